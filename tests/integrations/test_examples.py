"""Examples of the gallery that need other packages: they run, and their recorded output is current."""

import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]
FOLDER = Path(__file__).parents[2] / "examples" / "integrations"


@pytest.mark.parametrize(
    ("name", "package"), [("bertopic_topics", "bertopic"), ("mlflow_model", "mlflow"), ("scanpy_cells", "scanpy")]
)
def test_the_output_of_an_example_is_the_recorded_output(name, package, capsys, tmp_path, monkeypatch):
    pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    exec(compile(text, name, "exec"), {"__name__": "__main__"})
    recorded = re.findall(r"^#    (.+)$", text, flags=re.MULTILINE)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()] == recorded
