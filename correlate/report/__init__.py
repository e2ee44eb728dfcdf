"""The report: one HTML file that shows a session, opens from disk and asks no network."""
