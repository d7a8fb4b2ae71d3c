"""Study of default parameters on data with gross errors, outliers, and clusters of very different sizes."""
