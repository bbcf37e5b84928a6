"""What is asked of a mission, each kind a module."""
