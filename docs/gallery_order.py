"""The order of the gallery: what the library adds comes first."""

from pathlib import Path

#: Folders of ``examples``, in the order of the page.
SECTIONS = (
    *("start", "data", "features", "dissimilarities", "knowledge"),
    *("classifiers", "number_of_clusters", "several_partitions", "displays", "papers"),
)
FIRST = ("plot_what_it_adds.py", "plot_first_ten_minutes.py")


class Order:
    """Within a section: those of `FIRST`, then by file name.

    Parameters
    ----------
    folder : str
        The folder of the section.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        """What to sort a file by."""
        name = Path(file).name
        return FIRST.index(name) if name in FIRST else len(FIRST), name
