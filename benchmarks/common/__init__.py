"""What studies share: measuring, the record, cells of published tables, data, processes, the command line."""
