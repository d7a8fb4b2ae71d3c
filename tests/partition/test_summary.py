"""First lines of a summary: warnings about fits that may have failed."""

import pickle

import numpy as np
import pytest

from evlearn import CredalPartition
from evlearn.belief import FocalSets
from evlearn.partition.credal_partition import of_classes, with_problems

PROBLEMS = ("Clusters 0 and 1 have the same prototype. Use fewer clusters.",)


def of_sizes(*sizes, n_outliers=0):
    """Return a partition of sure samples in clusters of these sizes, and outliers."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    memberships = np.concatenate([np.eye(len(sizes))[labels], np.zeros((n_outliers, len(sizes)))])
    return CredalPartition.from_fuzzy(memberships)


def first_line(partition):
    return str(partition.summary()).splitlines()[0]


def test_the_first_line_warns_of_a_cluster_with_nearly_all_samples():
    # Report by a user: clusters of 11,926 and 4 rows and 70 outliers, without a warning.
    partition = of_sizes(4, 11_926, n_outliers=70)
    assert first_line(partition) == (
        "Warning: Cluster 1 contains 11,926 of 11,930 samples (more than 99.9 %), not counting outliers. If this "
        "is unexpected, check the data for wrong or extreme values: correct or remove them, or take logarithms of "
        "skewed features, and fit again."
    )
    assert (
        partition.rename(cluster_names=["few", "all others"])
        .summary()
        .problems[0]
        .startswith("Cluster all others contains")
    )
    assert partition.summary()._repr_html_().startswith("<div><p><strong>Warning:</strong> Cluster 1 contains")
    assert partition.problems == ()  # the fit did not report any


@pytest.mark.parametrize(
    ("sizes", "share"),
    [
        ((1000, 0), "1,000 of 1,000 samples (100 %)"),
        ((997, 2, 1), "997 of 1,000 samples (99.7 %)"),
        ((961, 39), "961 of 1,000 samples (96.1 %)"),
        ((99_999, 1), "99,999 of 100,000 samples (more than 99.9 %)"),
    ],
)
def test_the_share_is_not_rounded_to_all(sizes, share):
    assert f"contains {share}. If this is unexpected" in first_line(of_sizes(*sizes))


@pytest.mark.parametrize("sizes", [(242, 48, 10), (95, 5), (950, 20, 30), (1000,), (19, 0), (29, 0, 0)])
def test_unbalanced_clusters_a_single_cluster_and_few_samples_are_no_problem(sizes):
    assert of_sizes(*sizes).summary().problems == ()


def test_torn_samples_are_not_in_the_largest_cluster():
    masses = np.concatenate([np.tile([0, 1.0, 0, 0], (90, 1)), np.tile([0, 0, 0, 1.0], (10, 1))])
    assert CredalPartition(masses, FocalSets.full(2)).summary().problems == ()


def test_sizes_of_selected_clusters_and_of_classes_are_not_checked():
    partition = of_sizes(500, 500)
    assert partition[:500].summary().problems == ()
    assert partition[partition.to_hard() == 1].rename(cluster_names=list("ab")).summary().problems == ()
    assert of_classes(of_sizes(1000, 0)).summary().problems == ()
    whole = of_sizes(1000, 1)
    assert len(whole[:].summary().problems) == len(whole[::-1].summary().problems) == 1


def test_sizes_in_sums_of_summaries_are_checked_together():
    first, second = of_sizes(990, 10), of_sizes(10, 990)
    assert len(first.summary().problems) == 1
    assert (first.summary() + second.summary()).problems == ()
    assert "1,980 of 2,000 samples (99.0 %)" in (first.summary() + first.summary()).problems[0]
    assert (first[:500].summary() + first[500:].summary()).problems == ()


def test_problems_of_the_fit_follow_and_are_not_repeated_in_sums():
    partition = with_problems(of_sizes(990, 10), PROBLEMS)
    lines = str(partition.summary()).splitlines()
    assert lines[0].startswith("Warning: Cluster 0 contains 990")
    assert lines[1] == f"Warning: {PROBLEMS[0]}"
    assert lines[2] == "1000 samples, 2 clusters"
    total = partition.summary() + with_problems(of_sizes(10, 990), PROBLEMS).summary()
    assert total.problems == PROBLEMS
    assert f"<p><strong>Warning:</strong> {PROBLEMS[0]}</p>" in total._repr_html_()


def test_derived_partitions_inherit_problems(tmp_path):
    partition = with_problems(of_sizes(30, 20, 10), PROBLEMS)
    partition.save(tmp_path / "p.json")
    partition.save(tmp_path / "p.npz")
    others = [
        *(partition[:5], partition.rename(cluster_names=list("abc")), partition.permute_clusters([2, 1, 0])),
        *(partition.normalize(), pickle.loads(pickle.dumps(partition))),
        *(CredalPartition.load(tmp_path / "p.json"), CredalPartition.load(tmp_path / "p.npz", mmap=True)),
    ]
    assert all(other.problems == PROBLEMS for other in others)
    assert with_problems(partition, ()).problems == ()
    assert partition == with_problems(partition, ())


def test_a_file_without_problems_does_not_mention_them(tmp_path):
    of_sizes(3, 3).save(tmp_path / "p.json")
    assert "problems" not in (tmp_path / "p.json").read_text()


@pytest.mark.parametrize(
    "invalid", ['"Text."', "[1]", "[null]", '["two\\nlines"]', '["\\u001b[31m"]', '[""]', "{}"]
)
def test_problems_in_a_file_are_lines_of_text(invalid, tmp_path):
    path = tmp_path / "p.json"
    with_problems(of_sizes(3, 3), ("MARK",)).save(path)
    path.write_text(path.read_text().replace('["MARK"]', invalid))
    with pytest.raises(ValueError, match=r"p\.json is not a credal partition .*problems must"):
        CredalPartition.load(path)
