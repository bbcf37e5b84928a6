"""Guidance as parts of a mission: what flight software asks of its laws."""
