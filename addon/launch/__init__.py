"""Starting a client so that its calls are captured: the proxy, the environment, the command line.

`environment` and `arguments` are pure, `proxy` and `client` run processes. Imports
`claude_settings`.
"""
