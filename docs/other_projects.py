"""Links to the documentation of other projects, by patterns of addresses.

`sphinx.ext.intersphinx` would download lists of names, but the pages are built offline.
"""

from docutils import nodes

#: Addresses of the documentation by package.
ADDRESSES = {
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{name}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{name}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{name}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{name}.html",
    "joblib": "https://joblib.readthedocs.io/en/stable/generated/{name}.html",
}


def link(app, env, node, contnode):
    """Resolve a name of another project, or return None; for the event ``missing-reference``."""
    name = node.get("reftarget", "")
    package, _, rest = name.partition(".")
    if package not in ADDRESSES or not rest:
        return None
    address = ADDRESSES[package].format(name=name)
    return nodes.reference("", "", contnode, internal=False, refuri=address, reftitle=f"in {package}")
