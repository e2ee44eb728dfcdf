"""The report: one HTML file that shows a session, opens from disk and uses no network.

`source` reads, `model` builds plain values, `page` puts them into `assets/`. Imports everything
else of `correlate`.
"""
