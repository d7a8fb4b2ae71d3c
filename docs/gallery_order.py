"""Order of the gallery."""

from pathlib import Path

#: Folders of ``examples``, in the order of the gallery; ``examples/papers`` is part of ``docs/papers``.
SECTIONS = (
    *("start", "data", "features", "dissimilarities", "knowledge"),
    *("classifiers", "number_of_clusters", "several_partitions", "integrations", "displays"),
)
FIRST = ("plot_what_it_adds.py", "plot_first_ten_minutes.py")


class Order:
    """Order within a section: the files in `FIRST`, then by file name.

    Parameters
    ----------
    folder : str
        Folder of the section.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        """Return the sort key of a file."""
        name = Path(file).name
        return FIRST.index(name) if name in FIRST else len(FIRST), name
