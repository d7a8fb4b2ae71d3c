"""A few benchmarks to run before and after a change, in the format of airspeed velocity (asv).

Classes have ``setup``, ``time_*``, ``peakmem_*`` and ``track_*`` methods, and the values of one parameter in
``params``. They import only the library, so they run with any of its versions: with ``asv run``, using the
settings of ``benchmarks/asv.conf.json``, or without asv by ``python -m benchmarks.regression``, which compares 2
versions.
"""
