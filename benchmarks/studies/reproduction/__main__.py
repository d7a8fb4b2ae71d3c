"""Command ``python -m benchmarks.studies.reproduction``; see `study`."""

from benchmarks.studies.reproduction.study import main

if __name__ == "__main__":
    main()
