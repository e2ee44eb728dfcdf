"""How property tests are run: the same examples each time, and no clock.

`CCWIRE_EXAMPLES=5000 pytest …` looks harder, at other examples each time.
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
