"""Figures of gnc beside its peers, measured in one run: `make bench`."""
