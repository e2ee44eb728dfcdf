"""What changed between two snapshots, how sure that is, and whether it is drift. Pure."""
