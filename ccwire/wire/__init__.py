"""What crosses the wire and how it is kept on disk: the layer that `addon` and `correlate` share.

Names of files and fields, closed vocabularies, hosts, endpoints, SSE, message assembly, token
usage, the pack format. Pure, except for the pack. Imports no other package of this project.
"""
