"""Orbits as parts of a mission: where the craft are, and so what surrounds them."""
