"""Command ``python -m benchmarks.studies.answers``; see `study`."""

from benchmarks.studies.answers.study import main

if __name__ == "__main__":
    main()
