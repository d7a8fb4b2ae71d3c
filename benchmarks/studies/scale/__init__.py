"""Study of costs by size."""
