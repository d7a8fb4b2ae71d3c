"""Sphinx configuration; `make docs` builds the pages, offline and without warnings."""

import importlib.metadata
import os
import sys
from pathlib import Path

from docutils import nodes

import evlearn

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
import citations
import example_times
import gallery_order
import gallery_selection
import other_projects
import record_pages

# Workers of a Dask cluster may start slowly on a busy machine.
os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "300s")

project = "evidential-learn"
copyright = "The evidential-learn developers"
author = "The evidential-learn developers"
version = release = evlearn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
suppress_warnings = [
    "myst.xref_missing",  # see `unlink_files`
    "sphinx_gallery.duplicate_filename",  # examples/papers is below examples, but is not a section of the gallery
]
default_role = "py:obj"
toc_object_entries_show_parents = "hide"

# Members are listed by the class template.
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"

# MathJax is part of the pages, as the file without dependencies.
mathjax_file = next(
    file.locate() for file in importlib.metadata.files("sphinx-mathjax-offline") if file.name == "tex-svg.js"
)
mathjax_path = "tex-svg.js"

# Prompts and output are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

sphinx_gallery_conf = {
    "examples_dirs": ["../examples", "../examples/papers"],
    "gallery_dirs": ["gallery", "paper_figures"],
    # The figures of the papers have their own index, and are no section of the gallery.
    "copyfile_regex": r"index\.rst",
    "filename_pattern": gallery_selection.pattern(),
    "subsection_order": [f"../examples/{section}" for section in gallery_order.SECTIONS],
    "within_subsection_order": "gallery_order.Order",
    "doc_module": ("evlearn",),
    "backreferences_dir": "gallery/backreferences",
    "reference_url": {"evlearn": None},
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "reset_modules": ("matplotlib", "seaborn", "example_times.note"),
    "reset_modules_order": "both",
}

html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["_static", str(mathjax_file)]
html_css_files = ["style.css"]
html_logo = html_favicon = "_static/logo.svg"
html_sidebars = {
    page: []
    for page in ("index", "install", "faq", "citing", "changelog", "development", "contributing", "references")
}
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": project},
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["version-switcher", "theme-switcher"],
    # The list of versions is part of the pages; each release adds a line.
    "switcher": {"json_url": "_static/versions.json", "version_match": release},
    "footer_start": ["copyright"],
    "footer_end": ["version"],
}


def skip_tuple_fields(app, kind, name, obj, skip, options):
    # The fields of a named tuple are in its Attributes section; their docstrings are generic.
    return True if type(obj).__name__ == "_tuplegetter" else None


def skip_metadata_requests(app, kind, name, obj, skip, options):
    # Methods that scikit-learn adds for metadata routing and for frames.
    return True if name in ("get_metadata_routing", "set_output") or name.endswith("_request") else None


def unlink_files(app, doctree, page):
    # CONTRIBUTING.md links to files of the repository that are not pages.
    for link in list(doctree.findall(nodes.reference)):
        if link.get("refid", "").endswith(".md"):
            link.replace_self(link.children)


def write_record(app):
    record_pages.write_parts()


def setup(app):
    app.connect("builder-inited", write_record)
    if os.environ.get("EVLEARN_GALLERY") == "changed":
        app.connect("builder-inited", gallery_selection.write_placeholders, priority=900)  # after the gallery
    app.connect("autodoc-process-docstring", citations.link_citations, priority=400)  # before numpydoc
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.connect("autodoc-skip-member", skip_metadata_requests)
    app.connect("missing-reference", other_projects.link)
    app.connect("doctree-resolved", unlink_files)
    app.connect("build-finished", example_times.check, priority=900)  # after all others: the pages are complete
