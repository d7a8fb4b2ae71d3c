"""Names of the user as plot text: short, on one line, and without markup."""

_MAX_LENGTH = 24
#: Maximum number of characters of an axis label.
_MAX_AXIS_LENGTH = 60


def shorten(name: str, max_length: int = _MAX_LENGTH) -> str:
    """Shorten a name and escape its special characters."""
    text = "".join(letter if letter.isprintable() else " " for letter in name)
    if len(text) > max_length:
        text = f"{text[: max_length - 1]}…"
    if not text.strip():
        text = f'"{text}"'  # makes a blank name visible
    # matplotlib parses text between dollar signs, and omits labels that start with an underscore.
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def shorten_for_axis(name: str) -> str:
    """Shorten the name of a feature for an axis label."""
    return shorten(name, _MAX_AXIS_LENGTH)
