"""Study of robustness: hostile input, mutated files, and errors in central lines."""
