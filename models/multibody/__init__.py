"""Spacecraft of several bodies: a rooted tree of joints R, P, S, C, U on a free base (DQMB), solved in O(B)."""
