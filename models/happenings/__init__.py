"""Events as parts of a mission: what happens once in a flight, at its own time in each trial."""
