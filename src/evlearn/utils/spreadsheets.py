"""Text that is safe to open in a spreadsheet."""

#: First characters of cells that a spreadsheet evaluates as formulas.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would evaluate as a formula; numbers remain."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
