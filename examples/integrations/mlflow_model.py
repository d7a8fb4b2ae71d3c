"""
A model in MLflow that predicts verdicts
========================================

A model is logged with MLflow's ``pyfunc``, loaded again, and used for predictions, which are a frame with the same
columns for any model. The file of the model is JSON, so loading it executes no code; only the small class below is
pickled by MLflow.
"""

import logging
import os
import tempfile
from pathlib import Path

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # runs in files, without a database
import mlflow
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.cluster import CCM

logging.getLogger("mlflow").setLevel(logging.ERROR)


class VerdictModel(mlflow.pyfunc.PythonModel):
    def load_context(self, context):
        self.model = evlearn.load_model(context.artifacts["model"])

    def predict(self, context, model_input, params=None):
        return evlearn.predict_frame(self.model, model_input)


# %%
# The model clusters wines by 13 chemical measurements. The signature of its inputs and outputs follows from 3 rows.
wines = load_wine(as_frame=True).data
model = make_pipeline(StandardScaler(), CCM(3, random_state=0)).fit(wines)
folder = Path(tempfile.mkdtemp())
evlearn.save_model(model, folder / "wines.json")

mlflow.set_tracking_uri((folder / "runs").as_uri())
with mlflow.start_run():
    logged = mlflow.pyfunc.log_model(
        name="wines",
        python_model=VerdictModel(),
        artifacts={"model": str(folder / "wines.json")},
        pip_requirements=["evidential-learn"],
        input_example=wines.head(3),
    )
for column in logged.signature.outputs:
    print(column.name, column.type.name)

# %%
# Output:
#
# .. code-block:: text
#
#    cluster long
#    second_cluster long
#    verdict string
#    doubt double
#    outlier_score double
#
# The loaded model:
served = mlflow.pyfunc.load_model(logged.model_uri)
frame = served.predict(wines)
print(frame["verdict"].value_counts().to_string())
print(frame.equals(evlearn.predict_frame(model, wines)))

# %%
# Output:
#
# .. code-block:: text
#
#    verdict
#    sure       164
#    torn        13
#    outlier      1
#    True
