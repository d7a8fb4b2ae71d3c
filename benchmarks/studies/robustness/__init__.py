"""Hostile input, mutated files, and errors in central lines."""
