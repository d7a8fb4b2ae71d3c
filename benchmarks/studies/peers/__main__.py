"""Command ``python -m benchmarks.studies.peers``; see `study`."""

from benchmarks.studies.peers.study import main

if __name__ == "__main__":
    main()
