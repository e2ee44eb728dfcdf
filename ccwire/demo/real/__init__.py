"""The real client: fetched from npm, run once with a made-up key against the stand-in."""
