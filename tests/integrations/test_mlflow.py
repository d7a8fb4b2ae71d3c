"""Models in MLflow: logging, loading and predictions as a frame."""

import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evlearn
from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import CCM

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]
COLUMNS = ["cluster", "second_cluster", "verdict", "doubt", "outlier_score"]


@pytest.mark.parametrize(
    "estimator", [make_pipeline(StandardScaler(), CCM(3, random_state=0)), EvidentialKNNClassifier()]
)
def test_a_logged_model_predicts_the_same_frame(estimator, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # without a database
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    pyfunc = pytest.importorskip("mlflow.pyfunc", reason="mlflow is not installed")

    class Verdicts(pyfunc.PythonModel):
        def load_context(self, context):
            self.model = evlearn.load_model(context.artifacts["model"])

        def predict(self, context, model_input, params=None):
            return evlearn.predict_frame(self.model, model_input)

    X, y = load_iris(as_frame=True, return_X_y=True)
    estimator.fit(X, y)
    evlearn.save_model(estimator, tmp_path / "model.json")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run():
        info = pyfunc.log_model(
            name="verdicts",
            python_model=Verdicts(),
            artifacts={"model": str(tmp_path / "model.json")},
            pip_requirements=["evidential-learn"],
            input_example=X.head(3),
        )
    assert [column.name for column in info.signature.outputs] == COLUMNS
    frame = pyfunc.load_model(info.model_uri).predict(X)
    pd.testing.assert_frame_equal(frame, evlearn.predict_frame(estimator, X))
