"""The real client: fetched from npm and run with a made-up key against the stand-in."""
