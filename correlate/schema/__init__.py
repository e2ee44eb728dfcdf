"""What the client's formats look like, release by release: observed, merged, compared, checked."""
