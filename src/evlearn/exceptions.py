"""Warnings of evidential-learn."""


class CollapseWarning(UserWarning):
    """A fit found less than requested: clusters that coincide, are empty, or were not found.

    Catch it, or turn it into an error, with the `warnings` module.
    """


class ScaleWarning(UserWarning):
    """Columns of a table have such different scales that some hardly affect distances.

    Catch it, or turn it into an error, with the `warnings` module.
    """


__all__ = ["CollapseWarning", "ScaleWarning"]
