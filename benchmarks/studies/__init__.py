"""Studies, one package and one command per page of the record: ``python -m benchmarks.studies.peers``."""
