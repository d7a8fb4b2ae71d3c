"""The page around the parts of a report: plain HTML and a little style; nothing is fetched from elsewhere."""

import base64
import html
from collections.abc import Iterable, Sequence

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: #1a1a1a; background: #fff;
  margin: 0 auto; max-width: 62rem; padding: 1rem 1.25rem 3rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0 0.25rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.5rem; padding-bottom: 0.2rem; border-bottom: 1px solid #d0d0d0; }
p.made { color: #5a5a5a; font-size: 0.9rem; margin-top: 0; }
ul.facts { list-style: none; display: flex; flex-wrap: wrap; gap: 0.75rem; padding: 0; margin: 1rem 0; }
ul.facts li { border: 1px solid #d0d0d0; border-radius: 6px; padding: 0.5rem 0.9rem; min-width: 6.5rem; }
ul.facts strong { display: block; font-size: 1.5rem; line-height: 1.2; }
ul.facts span { color: #5a5a5a; font-size: 0.9rem; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; display: block; }
figcaption { color: #5a5a5a; font-size: 0.9rem; margin-top: 0.4rem; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid #e2e2e2; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid #9a9a9a; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
tbody tr:nth-child(even) { background: #f6f6f6; }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; } div.wide { overflow: visible; } table { font-size: 8.5pt; } }
"""


def page(title: str, made: str, parts: Iterable[str]) -> str:
    """A whole page."""
    name = html.escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
        f'<p class="made">{html.escape(made)}</p>\n' + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def section(heading: str, *parts: str) -> str:
    """A heading and what comes below it."""
    return f"<h2>{html.escape(heading)}</h2>\n" + "\n".join(parts)


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{html.escape(text)}</p>"


def facts(entries: Sequence[tuple[str, str]]) -> str:
    """Numbers in large type, each with a word below it."""
    items = (f"<li><strong>{html.escape(a)}</strong><span>{html.escape(b)}</span></li>" for a, b in entries)
    return f'<ul class="facts">{"".join(items)}</ul>'


def picture(png: bytes, caption: str) -> str:
    """A picture inside the page itself."""
    text = html.escape(caption)
    data = base64.b64encode(png).decode()
    return f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>'


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; numbers to the right, text to the left. It scrolls sideways where the page is narrow."""
    texts = [any(isinstance(row[k], str) for row in rows) for k in range(len(columns))]

    def cell(tag: str, value: object, text: bool) -> str:
        shown = value if isinstance(value, str) else _number(value)
        return f"<{tag}{' class=text' if text else ''}>{html.escape(shown)}</{tag}>"

    head = "".join(cell("th", name, text) for name, text in zip(columns, texts, strict=True))
    body = "".join(
        "<tr>" + "".join(cell("td", value, text) for value, text in zip(row, texts, strict=True)) + "</tr>\n"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>'


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
