"""Loads as parts of a mission: what the environment does to a craft."""
