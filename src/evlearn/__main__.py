"""``python -m evlearn`` is the command ``evlearn``."""

import sys

from evlearn.command_line import main

sys.exit(main())
