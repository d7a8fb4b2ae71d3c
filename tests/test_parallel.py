"""Tasks in groups have the same results as single tasks."""

import pytest
from joblib import delayed, parallel_config

from evlearn.utils.parallel import _groups, reuse_workers, run_tasks


def squares(count):
    return [delayed(pow)(number, 2) for number in range(count)]


@pytest.mark.parametrize("n_workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 16, 17, 300])
def test_results_come_in_the_order_of_the_tasks(count, n_workers):
    assert list(run_tasks(squares(count), n_workers)) == [number**2 for number in range(count)]


def test_reused_workers_run_any_number_of_tasks():
    with reuse_workers():
        for count in (40, 3, 100):
            assert list(run_tasks(squares(count), 2)) == [number**2 for number in range(count)]


@pytest.mark.parametrize(
    ("count", "n_workers", "n_groups"),
    [(16, 1, 16), (16, 2, 4), (16, 4, 8), (16, 16, 16), (15, 2, 5), (300, 2, 38)],
)
def test_every_worker_gets_a_few_groups_and_none_is_large(count, n_workers, n_groups):
    with parallel_config("threading", n_jobs=n_workers):
        groups = _groups(squares(count), None)
    assert len(groups) == n_groups


def test_an_error_in_a_group_is_the_error_of_the_task():
    tasks = [*squares(16), delayed(int)("seventeen")]
    with pytest.raises(ValueError, match="seventeen"):
        list(run_tasks(tasks, 2))
