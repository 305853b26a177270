"""Positional versus symbolic attention heads: tasks, model, training, measurements, figures.

The library knows nothing of Snakemake. Importing it imports nothing heavy.
"""
