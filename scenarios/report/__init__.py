"""The HTML report: one self-contained page with tables, time plots and 3-D playback."""
