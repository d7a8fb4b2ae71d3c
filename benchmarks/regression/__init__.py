"""A few cases to run before and after a change."""
