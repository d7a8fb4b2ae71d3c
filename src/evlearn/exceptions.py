"""The warnings of evlearn."""


class CollapseWarning(UserWarning):
    """A fit has found less than it was asked for: clusters that coincide, are empty, or are not there at all.

    Catch it, or make it an error, with the tools of the `warnings` module.
    """


class ScaleWarning(UserWarning):
    """Columns of a table are in units so different that some of them hardly count in distances.

    Catch it, or make it an error, with the tools of the `warnings` module.
    """


__all__ = ["CollapseWarning", "ScaleWarning"]
