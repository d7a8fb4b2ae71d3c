"""One package for each page of the record, and one command for each: ``python -m benchmarks.studies.peers``."""
