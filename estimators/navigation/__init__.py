"""Navigation as parts of a mission: filters with what they know at the start."""
