"""Starts a client behind the proxy: the proxy process, the environment, the command line.

`environment`, `arguments` and `proxy_log` are pure, `proxy` and `client` run processes. Imports
`claude_settings`.
"""
