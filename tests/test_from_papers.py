"""Pages for users of R and readers of the papers: all names occur and can be resolved."""

import csv
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FROM_R, DOCUMENTS = ROOT / "docs" / "papers" / "from_r", ROOT / "docs" / "record" / "documents"
EXPORTS = {
    "clustering": """ecm recm cecm delta_Bel bpec kevclus kcevclus nnevclus nnevclus_mb EkNNclus bootclus createD
        createPairs predict knn_dist""",
    "partitions": """makeF extractMass normalize.credpart create_hard_credpart create_fuzzy_credpart summary plot
        pairwise_mass credal_RI nonspecificity create_MLCL expandlink pcca kpcca bananas harris""",
    "classification": """EkNNinit EkNNfit EkNNval proDSinit proDSfit proDSval RBFinit RBFfit RBFval calcAB calcm
        decision""",
    "data": "butterfly fourclass protein s2 glass ionosphere vehicles",
}


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def resolve(name):
    """Return the object with a dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


@pytest.mark.parametrize("name", EXPORTS)
def test_every_export_of_r_has_its_line(name):
    names = [name for row in rows(FROM_R / f"{name}.csv") for name in re.findall(r"``([\w.]+)``", row["R"])]
    assert names == EXPORTS[name].split()


def test_evclust_exports_28_functions_and_3_methods_and_evclass_12():
    clustering = (EXPORTS["clustering"] + " " + EXPORTS["partitions"]).split()
    assert len(clustering) == 28 + 3
    assert len(EXPORTS["classification"].split()) == 12


@pytest.mark.parametrize("path", [*FROM_R.glob("*.csv"), *DOCUMENTS.glob("*.csv")], ids=lambda path: path.stem)
def test_every_mentioned_name_and_file_exists(path):
    page = (ROOT / "docs" / path.parents[1].name / f"{path.parent.name}.rst").read_text()
    assert f"{path.parent.name}/{path.name}" in page
    for row in rows(path):
        text = " ".join(row.values())
        for name in re.findall(r"(?<!`)`[^`<]*?<?~?((?:evlearn|sklearn)[\w.]+)>?`", text):
            assert resolve(name) is not None
        for name in re.findall(r"``(tests/[\w/.]+)``", text):
            assert (ROOT / name).exists(), name
        for name in re.findall(r":doc:`/?([\w/]+)`", text):
            folder = ROOT / "docs" if "/" in name else path.parents[1]
            assert (folder / f"{name}.rst").exists(), name


def test_every_item_of_a_document_has_a_place_and_a_check():
    for path in DOCUMENTS.glob("*.csv"):
        for row in rows(path):
            assert row["implementation"], row
            assert row["checked by"] or row["implementation"].startswith("not implemented"), row
