"""Steps in time that keep the structure of the motion: momentum, energy, the group."""
