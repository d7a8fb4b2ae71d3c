"""Tests of the record of mutated files: all kinds that the library reads, without failures."""

import pytest

pytest.importorskip("torch")

from benchmarks.common import record
from benchmarks.studies.robustness import fuzz_subjects

#: New kinds of files, which have 10 % of the mutants of the others until the next long run.
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
    "partition lists json",
    "partition lists npz mmap",
}


def test_ten_thousand_mutants_of_every_kind_of_file_caused_no_failure():
    recorded = record.load("fuzz_files")
    assert set(recorded["kinds"]) == set(fuzz_subjects.names())
    for name, kind in recorded["kinds"].items():
        assert kind["cases"] == (1_000 if name in NEW else 10_000)
        assert kind["signals"] == kind["other_failures"] == 0
        assert kind["worst_memory_mb"] < 100
