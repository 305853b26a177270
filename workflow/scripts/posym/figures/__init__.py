"""The figures, one file each; they read tables only, so that a redraw needs neither a model nor a GPU.

A figure's module has `TABLES`, the names of the measurement tables that it reads, and `draw(tables, settings)`, which
returns the figure and the data it shows. The tables carry the columns `task` and `seed` besides their own. A new figure
is one new file beside `accuracy.py`; a new kind of table is one line in `catalogue.py`.
"""
