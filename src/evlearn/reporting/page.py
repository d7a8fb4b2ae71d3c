"""HTML elements of a report, without external resources."""

import base64
import html
from collections.abc import Iterable, Mapping, Sequence

from evlearn.utils.formatting import format_rounded

_MAX_UNBROKEN = 24  # characters of text without line breaks
_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: #1a1a1a; background: #fff;
  margin: 0 auto; max-width: 66rem; padding: 1rem 1.25rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0 0.25rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 0.5rem; padding-bottom: 0.2rem; border-bottom: 1px solid #d0d0d0; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 0.3rem; line-height: 1.3; }
section.card h3 { margin-top: 0; }
p { max-width: 46rem; }
p.subtitle, p.note { color: #5a5a5a; font-size: 0.9rem; }
p.subtitle { margin-top: 0; }
p.problem { border-left: 5px solid #d55e00; background: #fdf1e7; padding: 0.5rem 0.9rem; }
ul.facts { list-style: none; display: flex; flex-wrap: wrap; gap: 0.75rem; padding: 0; margin: 1rem 0; }
ul.facts li { border: 1px solid #d0d0d0; border-radius: 6px; padding: 0.5rem 0.9rem; min-width: 7.5rem; }
ul.facts strong { display: block; font-size: 1.5rem; line-height: 1.2; }
ul.facts span { color: #5a5a5a; font-size: 0.9rem; }
div.cards { display: grid; gap: 0.9rem;
  grid-template-columns: repeat(auto-fill, minmax(min(15.2rem, 100%), 1fr)); }
section.card { border: 1px solid #d0d0d0; border-top: 5px solid #9a9a9a; border-radius: 6px;
  padding: 0.7rem 0.9rem; }
section.card ul { margin: 0.5rem 0; padding-left: 1.1rem; }
section.card span { display: inline-block; }
section.card li span { color: #5a5a5a; }
section.card p { margin: 0.3rem 0; font-size: 0.9rem; color: #444; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; display: block; }
figcaption { color: #5a5a5a; font-size: 0.9rem; margin-top: 0.4rem; max-width: 46rem; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid #e2e2e2; text-align: right; white-space: nowrap;
  vertical-align: top; }
th { border-bottom: 2px solid #9a9a9a; vertical-align: bottom; }
th:first-child, td:first-child, td.text, th.text { text-align: left; }
td.text { white-space: normal; max-width: 24rem; overflow-wrap: break-word; }
td.name { white-space: nowrap; }
td.long { white-space: pre-line; max-width: none; }
tbody tr:nth-child(even) { background: #f6f6f6; }
a.download { display: inline-block; border: 1px solid #0072b2; color: #005a8c; border-radius: 6px;
  padding: 0.35rem 0.8rem; text-decoration: none; }
a.download:hover, a.download:focus { background: #eaf4fa; }
details { margin-top: 2.4rem; border-top: 1px solid #d0d0d0; padding-top: 0.8rem; }
summary { cursor: pointer; font-size: 1.3rem; font-weight: bold; }
@media (max-width: 30rem) { body { padding: 0.6rem 0.8rem 2rem; } th, td { padding: 0.3rem 0.45rem; }
  ul.facts li { flex: 1 1 7rem; min-width: 0; } table.stacked thead { display: none; }
  table.stacked tr { display: block; padding: 0.5rem 0; border-bottom: 1px solid #e2e2e2; }
  table.stacked td { display: block; padding: 0 0.45rem; border: 0; }
  table.stacked td:first-child { font-weight: bold; } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } h2, h3 { break-after: avoid; }
  figure, tr, section.card { break-inside: avoid; } div.wide { overflow: visible; } table { font-size: 8.5pt; }
  a.download { display: none; } }
"""


def page(title: str, subtitle: str, parts: Iterable[str]) -> str:
    """Return the complete page."""
    name = html.escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
        f'<p class="subtitle">{html.escape(subtitle)}</p>\n' + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def section(heading: str, *parts: str, level: int = 2) -> str:
    """Return a heading and its content."""
    return f"<h{level}>{html.escape(heading)}</h{level}>\n" + "\n".join(parts)


def collapsible(summary: str, *parts: str) -> str:
    """Return content that the reader can expand."""
    return f"<details>\n<summary>{html.escape(summary)}</summary>\n" + "\n".join(parts) + "\n</details>"


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph."""
    return f"<p{f' class={kind}' if kind else ''}>{_escape(text)}</p>"


def _escape(text: str) -> str:
    """Escape text for HTML, with no line break between a number and its percent sign."""
    return html.escape(text).replace(" %", "&nbsp;%")


def facts(entries: Sequence[tuple[str, str]]) -> str:
    """Return numbers in large type, each with a caption."""
    items = (f"<li><strong>{html.escape(a)}</strong><span>{html.escape(b)}</span></li>" for a, b in entries)
    return f'<ul class="facts">{"".join(items)}</ul>'


def card(
    heading: str,
    color: str | None,
    lead: str,
    points: Sequence[tuple[str, str, str]],
    names: Mapping[str, Sequence[str]],
) -> str:
    """Return a box for one cluster: name, lead, points with a bold start and a gray end, and names of samples."""
    style = f' style="border-top-color: {color}"' if color else ""
    items = "".join(
        f"<li><b>{html.escape(bold)}</b>{html.escape(text)}<span>{html.escape(note)}</span></li>"
        for bold, text, note in points
    )
    below = "".join(f"<p>{html.escape(label)}: {_unbroken_names(words)}</p>" for label, words in names.items())
    body = f"<ul>{items}</ul>" if items else ""
    return f'<section class="card"{style}><h3>{html.escape(heading)}</h3>{paragraph(lead)}{body}{below}</section>'


def _unbroken_names(names: Sequence[str]) -> str:
    """Join names, without line breaks inside of them."""
    return ", ".join(f"<span>{html.escape(name)}</span>" for name in names)


def cards(boxes: Iterable[str]) -> str:
    """Return boxes in a grid, or in one column on narrow screens."""
    return "\n".join(['<div class="cards">', *boxes, "</div>"])


def picture(png: bytes, caption: str) -> str:
    """Return an embedded image with a caption."""
    text = html.escape(caption)
    data = base64.b64encode(png).decode()
    return f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>'


def download(text: str, content: bytes, file_name: str) -> str:
    """Return a link that downloads an embedded file."""
    data = base64.b64encode(content).decode()
    name, label = html.escape(file_name), html.escape(text)
    return f'<p><a class="download" download="{name}" href="data:text/csv;base64,{data}">{label}</a></p>'


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, long: str | None = None) -> str:
    """Return a table, with numbers aligned to the right, that scrolls on narrow screens."""
    texts = [any(isinstance(row[k], str) for row in rows) for k in range(len(columns))]
    kinds = [
        _cell_class(name, text, [row[k] for row in rows], long)
        for k, (name, text) in enumerate(zip(columns, texts, strict=True))
    ]

    def cell(tag: str, value: object, kind: str) -> str:
        content = value if isinstance(value, str) else "" if value is None else _format_number(value)
        attribute = f' class="{kind}"' if kind else ""
        return f"<{tag}{attribute}>{html.escape(content)}</{tag}>"

    head = "".join(cell("th", name, kind) for name, kind in zip(columns, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(cell("td", value, kind) for value, kind in zip(row, kinds, strict=True)) + "</tr>\n"
        for row in rows
    )
    stacked = "" if long is None else " class=stacked"
    return (
        f'<div class="wide"><table{stacked}><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>'
    )


def _cell_class(name: str, text: bool, cells: Sequence[object], long: str | None) -> str:
    """Return the CSS class of a column: numbers, short text without line breaks, or longer text."""
    if name == long:
        return "long text"
    short = all(len(str(cell)) <= _MAX_UNBROKEN for cell in cells)
    return ("text name" if short else "text") if text else ""


def _format_number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else format_rounded(float(str(value)))
