"""Closed loops of satellites that turn."""
