"""How much CPU each example of the gallery takes, and that none takes long.

CPU, because elapsed time says more about what else the machine does.
"""

import time

from sphinx.errors import SphinxError

MOST = 60  # seconds
_seconds = {}


def note(gallery_conf, file, when):
    """Note CPU time before and after an example; for ``reset_modules`` of the gallery."""
    _seconds[file] = time.process_time() - (_seconds[file] if when == "after" else 0)


def check(app, exception):
    """Fail if an example that this build has run took too long; for the event ``build-finished``."""
    slow = [f"{file} took {seconds:.0f} s" for file, seconds in _seconds.items() if seconds > MOST]
    if exception is None and slow:
        raise SphinxError(
            f"{'; '.join(slow)}: every example must run in {MOST} s of CPU. "
            "Use fewer samples, fewer starts or a larger tol."
        )
