"""Entry point of ``python -m evlearn``, which is the same as the command ``evlearn``."""

import sys

from evlearn.command_line import main

sys.exit(main())
