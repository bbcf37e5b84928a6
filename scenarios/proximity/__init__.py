"""Closed loops of a chaser and a tumbling target."""
