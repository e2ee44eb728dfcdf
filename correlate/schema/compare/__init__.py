"""Compare two snapshots: the changes, their confidence, and whether they are drift. Pure."""
