"""The report: one HTML page of everything an experiment made, which opens from disk and needs nothing else.

`sections` says where a figure stands, `figures` reads the figures, `numbers` makes the tables beside some of them,
`scorecard` the claims, `provenance` how it was run; `page` puts them into page.html.jinja. Figures, tables and manifests
go in as files: the report computes no number of its own.
"""
