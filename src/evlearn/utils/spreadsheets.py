"""Text that is safe to open in a spreadsheet."""

#: How text begins that a spreadsheet computes.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula: an apostrophe says that it is text. Numbers stay."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
