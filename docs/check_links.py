"""Check of the links of the built pages: ``python docs/check_links.py docs/_build/html``.

Files and anchors must exist; nothing is downloaded. Addresses of other sites are listed, and must be complete
https addresses.
"""

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit


class Page(HTMLParser):
    """Links and anchors of a page.

    Parameters
    ----------
    text : str
        HTML of the page.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {"", "top"}  # valid on all pages
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store the links and anchors of a tag."""
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.links.add(value)
            elif name == "srcset" and value:
                self.links.update(candidate.split()[0] for candidate in value.split(","))
            elif name == "id" and value:
                self.anchors.add(value)


def check(folder: Path) -> tuple[list[str], list[str]]:
    """Check the links of all pages in a folder.

    Parameters
    ----------
    folder : Path
        Folder of the built pages.

    Returns
    -------
    faults : list of str
        Pages with broken links.
    others : list of str
        Addresses of other sites.
    """
    root = folder.resolve()
    # Files of the theme in _static are templates.
    paths = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    faults = [] if pages else [f"{folder} has no pages. Build them first."]
    others = set()
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme in ("data", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                others.add(link)
                fault = _fault_of_address(parts)
            else:
                fault = _fault_of_path(parts, path, pages, root)
            if fault:
                faults.append(f"{path.relative_to(root)}: {link} {fault}")
    return faults, sorted(others)


def _fault_of_address(parts: SplitResult) -> str | None:
    whole = parts.scheme == "https" and "." in (parts.hostname or "") and " " not in parts.geturl()
    return None if whole else "is not an https address"


def _fault_of_path(parts: SplitResult, page: Path, pages: dict[Path, Page], root: Path) -> str | None:
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.is_relative_to(root):  # also if the path begins with a slash
        return "is outside the pages"
    if not target.is_file():
        return "does not exist"
    if target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "is not an anchor of that page"
    return None


def main() -> int:
    """Print addresses of other sites and faults, and return 1 if there are faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the built pages")
    faults, others = check(parser.parse_args().folder)
    print("Other sites, not checked:", *others, sep="\n  ")
    print(f"Broken links: {len(faults)}", *faults, sep="\n  ")
    if faults:
        print("If a page is from an earlier build, remove the folder and build again.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
