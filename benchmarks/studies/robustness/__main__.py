"""Command ``python -m benchmarks.studies.robustness``; see `study`."""

from benchmarks.studies.robustness.study import main

if __name__ == "__main__":
    main()
