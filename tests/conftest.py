"""Hypothesis settings for every test: the same examples in every run, and no deadline."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
