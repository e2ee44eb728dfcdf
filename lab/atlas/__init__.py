"""The atlas: run real releases of the client and record in which release each format changed."""
