"""Command ``python -m benchmarks.studies.unclean``; see `study`."""

from benchmarks.studies.unclean.study import main

if __name__ == "__main__":
    main()
