"""What is on record about mutated files: every kind that the library reads, and none of them bites."""

import pytest

pytest.importorskip("torch")

from benchmarks.common import record
from benchmarks.studies.robustness import fuzz_subjects

#: Kinds that are new: a tenth of the mutants of others, until the long run is made again.
NEW = {
    "large model json",
    "large model npz",
    "ColumnTransformer",
    "ColumnTransformer remainder",
    "TableEncoder",
    "GowerDistances",
    "EvidentialForest",
    "UnseenClassDetector",
    "EvidentialKNN",
    "EvidentialKNN soft",
    "EvidentialNeural",
    "EvidentialRBF",
    "mixture",
    "MergedMixture",
    "SECM",
    "ECMdd median",
    "CredalEnsemble",
    "CredalEnsemble dempster",
    "ConformalClusterer",
    "SimpleImputer",
    "KNNImputer",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PCA",
    "TruncatedSVD",
    "NNEVCLUS",
}


def test_ten_thousand_mutants_of_every_kind_of_file_did_no_harm():
    found = record.read("fuzz_files")
    assert set(found["kinds"]) == set(fuzz_subjects.names())
    for name, kind in found["kinds"].items():
        assert kind["cases"] == (1_000 if name in NEW else 10_000)
        assert kind["signals"] == kind["other_failures"] == 0
        assert kind["worst_memory_mb"] < 100
