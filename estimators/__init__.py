"""Filters that turn measurements into a belief, and the bounds and consistency tests that judge them."""
