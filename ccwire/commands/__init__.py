"""One module a command; each defines a click command named `command`."""
