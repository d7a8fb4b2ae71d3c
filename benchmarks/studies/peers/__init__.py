"""Other packages beside ours."""
