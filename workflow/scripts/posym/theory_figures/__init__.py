"""The figures of the theory, one file each with a `draw(table, settings)`; they read discrepancy.parquet only."""
