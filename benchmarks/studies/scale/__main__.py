"""Command ``python -m benchmarks.studies.scale``; see `study`."""

from benchmarks.studies.scale.study import main

if __name__ == "__main__":
    main()
