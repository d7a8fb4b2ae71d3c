"""Check of the CPU time of the examples in the gallery.

Elapsed time would also depend on other programs.
"""

import time

from sphinx.errors import SphinxError

MAX_SECONDS = 60
_seconds = {}


def note(gallery_conf, file, when):
    """Record the CPU time of an example; for ``reset_modules`` of the gallery."""
    _seconds[file] = time.process_time() - (_seconds[file] if when == "after" else 0)


def check(app, exception):
    """Raise an error if an example of this build was too slow; for the event ``build-finished``."""
    slow = [f"{file} took {seconds:.0f} s" for file, seconds in _seconds.items() if seconds > MAX_SECONDS]
    if exception is None and slow:
        raise SphinxError(
            f"{'; '.join(slow)}: each example must run in {MAX_SECONDS} s of CPU. "
            "Use fewer samples, fewer starts or a larger tol."
        )
