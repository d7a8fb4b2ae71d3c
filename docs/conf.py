"""How the documentation is built; `make docs` builds it, offline and without warnings."""

import sys
from pathlib import Path
from xml.etree import ElementTree

from sphinx.errors import SphinxError

import evlearn

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
import citations
import record_pages

project = "evidential-learn"
copyright = "The evidential-learn developers"
author = "The evidential-learn developers"
version = release = evlearn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "py:obj"
toc_object_entries_show_parents = "hide"

# Members are listed by the template of classes, once, on the page of their class.
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"

bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("evlearn",),
    "backreferences_dir": "gallery/backreferences",
    "reference_url": {"evlearn": None},
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "junit": "../gallery_times.xml",  # beside the pages, for `check_example_times`
}
most_seconds_of_an_example = 60

html_theme = "pydata_sphinx_theme"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["cards.css"]
html_sidebars = {"index": [], "references": []}
html_show_sourcelink = False


def skip_tuple_fields(app, what, name, obj, skip, options):
    # The fields of a named tuple are told in its Attributes section; Python's own text for them tells nothing.
    return True if type(obj).__name__ == "_tuplegetter" else None


def skip_metadata_requests(app, what, name, obj, skip, options):
    # What scikit-learn adds for arguments of methods beside X and y, and for frames; the text is its own.
    return True if name in ("get_metadata_routing", "set_output") or name.endswith("_request") else None


def check_example_times(app, exception):
    # Only the examples that this build has run; a build from nothing runs all.
    times = Path(app.outdir, sphinx_gallery_conf["junit"])
    if exception is not None or not times.exists():
        return
    seconds = {one.get("file"): float(one.get("time")) for one in ElementTree.parse(times).iter("testcase")}
    slow = [f"{file} took {time:.0f} s" for file, time in seconds.items() if time > most_seconds_of_an_example]
    if slow:
        raise SphinxError(
            f"{'; '.join(slow)}: every example must run in {most_seconds_of_an_example} s. "
            "Take fewer samples, fewer starts or a larger tol."
        )


def write_record(app):
    record_pages.write_parts()


def setup(app):
    app.connect("builder-inited", write_record)
    app.connect("autodoc-process-docstring", citations.link_citations, priority=400)  # before numpydoc
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.connect("autodoc-skip-member", skip_metadata_requests)
    app.connect("build-finished", check_example_times)
