"""Tests of plots of a million samples, each in a separate process.

More figures: ``python -m benchmarks.studies.scale.pictures``.
"""

import pytest
from matplotlib.image import imread

from benchmarks.studies.scale.pictures import measure

pytestmark = pytest.mark.timing


@pytest.mark.parametrize(
    "case",
    ["partition", "partition 10-d", "partition 30 clusters", "masses", "doubt", "relational", "shepard"],
)
def test_a_million_samples_are_drawn_in_seconds_with_little_memory(case, tmp_path, record_property):
    figures = measure(case, 1_000_000, tmp_path)
    for name in ("cpu_seconds", "wall_seconds", "peak_gigabytes"):
        record_property(name, figures[name])
    # CPU time, because machines are shared.
    assert figures["cpu_seconds"] < 10, figures
    assert figures["peak_gigabytes"] < 1.5, figures
    picture = imread(figures["file"])
    assert picture.shape[2] == 4
    assert picture[..., :3].std() > 0.02  # the plot is not empty
