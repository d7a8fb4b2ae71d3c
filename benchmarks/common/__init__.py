"""Shared code of the studies: timing, the record, cells of published tables, data, processes, the command line."""
