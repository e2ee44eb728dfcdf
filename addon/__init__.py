"""The capture side: the mitmproxy add-on, the hook, and everything that writes."""
