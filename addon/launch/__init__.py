"""Starts a client behind the proxy: the proxy process, the environment, the command line.

`environment` and `arguments` are pure, `proxy` and `client` run processes. Imports
`claude_settings`.
"""
