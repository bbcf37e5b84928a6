"""Control laws as parts of a mission."""
