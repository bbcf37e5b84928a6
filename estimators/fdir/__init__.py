"""Failure detection, isolation and recovery (FDIR), as parts of a mission."""
