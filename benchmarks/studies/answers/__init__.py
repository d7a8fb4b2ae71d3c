"""How good answers are by default."""
