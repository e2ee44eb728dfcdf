"""What others counted, compared with the wire: the client's own totals, and Bedrock's metrics.

`client_totals` reads totals, `compare` explains how they differ by the rules of the client:
`counting`, `restarts`, `rates`. Pure; imports the records of `correlate.reconcile` and the wire.
"""
