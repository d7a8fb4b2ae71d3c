"""A few cases to run before and after a change, in the manner of airspeed velocity (asv).

Classes have ``setup``, ``time_*``, ``peakmem_*`` and ``track_*``, with the values of one parameter in ``params``.
They import nothing but the library, so that they can be run with any version of it: by ``asv run``, with the
settings of ``benchmarks/asv.conf.json``, or without asv by ``python -m benchmarks.regression``, which compares two
versions.
"""
