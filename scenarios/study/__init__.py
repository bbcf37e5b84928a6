"""Studies: how slowly may a filter sample before it loses accuracy or consistency, and what is the limit."""
