"""End-to-end tests: a real proxy and, marked `real`, the real client."""

import pytest

pytest.register_assert_rewrite("tests.e2e.real_rig")
