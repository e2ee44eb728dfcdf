"""Settings of property tests: the same examples in every run, and no deadline.

`CCWIRE_EXAMPLES=5000 pytest …` runs more examples, at random.
"""

import os

from hypothesis import settings

_ASKED = os.environ.get("CCWIRE_EXAMPLES")

property_test = settings(
    max_examples=int(_ASKED or 40),
    derandomize=_ASKED is None,
    deadline=None,
    database=None,
)
