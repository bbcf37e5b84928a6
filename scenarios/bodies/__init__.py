"""Closed loops of bodies that part, carry arms and touch ground: what their scenarios share."""
