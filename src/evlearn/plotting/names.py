"""Names that users gave, as text in a picture: short, in one line, and taken for nothing but what they are."""

_LONGEST = 24
#: The most letters of a name on an axis.
_LONGEST_ON_AXIS = 60


def shortened(name: str, longest: int = _LONGEST) -> str:
    """A name as text of a length that leaves room for the picture."""
    text = "".join(letter if letter.isprintable() else " " for letter in name)
    if len(text) > longest:
        text = f"{text[: longest - 1]}…"
    if not text.strip():
        text = f'"{text}"'  # or nobody would see that there is a name
    # Between dollars matplotlib reads formulas, and it leaves labels out that begin with an underscore.
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def on_axis(name: str) -> str:
    """The name of a feature, to stand beside an axis."""
    return shortened(name, _LONGEST_ON_AXIS)
