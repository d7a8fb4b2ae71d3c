"""What sizes cost."""
