"""Shared private tools: types, checks, files, parallel jobs, iterative optimization."""
