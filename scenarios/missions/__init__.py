"""Missions: craft, environment, flight software, faults and requirements put together from parts."""
