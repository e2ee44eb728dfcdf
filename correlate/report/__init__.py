"""The report: one HTML file that shows a session, opens from disk and needs no network.

`source` reads the files, `model` builds plain values, `page` renders them with `assets/`. Imports
the other packages of `correlate`.
"""
