"""The atlas: runs real releases of the client and dates when each format changed."""
