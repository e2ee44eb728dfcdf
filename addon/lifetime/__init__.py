"""How long the processes and files of a run live: no longer than the run, however it ends.

`lifeline` ends the proxy with its parent, `scratch` is the run's folder, `signals` defers signals
while a process starts. Imports nothing of the other packages.
"""
