"""Filters on recorded data: `gnc replay LOG --config filter.toml`.

    tables -> clock -> stream -> merge -> run -> records -> score, tuning -> show
    read in   stamps   dirty     order    the    on disk    second pass over
    chunks             rows      of time  filter            what was written

The log is read once, in chunks, and results are written as they come: memory does not grow with the log. docs/replay.md
states the format, the rules for dirty data, and the outputs.
"""
