"""Closed loops that put the packages together, the experiments of the papers, and the command line."""
