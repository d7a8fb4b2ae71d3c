"""Selection of the examples that a build of the documentation runs, and placeholders for pictures of the others.

``EVLEARN_GALLERY=changed`` runs only examples that differ from the main branch; otherwise all examples are run.
The pages of the others are built without output. Examples whose names do not begin with "plot_" need other
packages, and are never run here; their output is recorded in their text. Examples that were
run before are not run again if their files are unchanged.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from sphinx.util import logging
from sphinx_gallery import glr_path_static

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PICTURE = re.compile(r"/gallery/(\S+)/images/sphx_glr_(plot_\w+)_\d{3}\.png")
logger = logging.getLogger(__name__)


def pattern() -> str:
    """Return the regular expression of paths of examples to run; for ``filename_pattern`` of the gallery."""
    names = changed_examples(ROOT) if os.environ.get("EVLEARN_GALLERY") == "changed" else None
    if names is None:
        return "/plot_"
    logger.info("Examples that are run: %s", ", ".join(names) or "none, because all are unchanged")
    return "|".join(f"/{re.escape(name)}$" for name in names) or "(?!)"


def changed_examples(root: Path) -> list[str] | None:
    """Return the examples that are new or different on this branch, or in the last commit of the main branch.

    Parameters
    ----------
    root : Path
        Folder of a git repository.

    Returns
    -------
    list of str or None
        Paths of examples; None if the history is not known.
    """

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout

    try:
        main = "origin/main" if git("branch", "--remotes", "--list", "origin/main") else "main"
        base = git("merge-base", "HEAD", main).strip()
        if base == git("rev-parse", "HEAD").strip():
            base = git("rev-parse", "HEAD~1").strip()
        names = git("diff", "--name-only", "--relative", "--diff-filter=d", base, "--", "examples")
        names += git("ls-files", "--others", "--exclude-standard", "--", "examples")
    except (OSError, subprocess.CalledProcessError):
        return None
    return sorted({name for name in names.splitlines() if re.search(r"/plot_\w+\.py$", name)})


def write_placeholders(app: object) -> None:
    """Write a placeholder for each picture of an unchanged example on a page; for the event ``builder-inited``."""
    for page in DOCS.rglob("*.rst"):
        if page.is_relative_to(DOCS / "gallery"):
            continue
        for match in PICTURE.finditer(page.read_text(encoding="utf-8")):
            picture = DOCS / match[0].removeprefix("/")
            if not picture.exists() and (ROOT / "examples" / match[1] / f"{match[2]}.py").is_file():
                picture.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(glr_path_static()) / "no_image.png", picture)
