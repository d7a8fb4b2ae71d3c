"""Compiled inner loops. They do not validate their arguments and do not draw random numbers."""
