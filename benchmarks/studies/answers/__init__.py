"""Study of the quality of the results with default parameters."""
