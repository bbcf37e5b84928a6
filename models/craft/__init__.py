"""Craft as parts of a mission: bodies with what acts on them, what they measure with and how they begin."""
