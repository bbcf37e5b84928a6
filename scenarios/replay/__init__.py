"""Filters on recorded data: `gnc replay LOG --config filter.toml`, `gnc tune`, `gnc calibrate`.

    logs.tables, logs.clock      columns and stamps, in chunks
    quantities, stream, merge    units and frames, dirty rows, order of time
    ticks, stepper, run          what the filter is given, thousands of ticks as one program
    filter_protocol, *_filters, sensor_states, inertial, imu_run, smoothing   the filters
    results, records, truth      on disk as they come, the truth beside them at the end
    score, evidence, plausibility, tuning, account, wording   a second pass: how good, how honest, doubts and hints
    folder, curves               files, figures, page
    likelihood, tune             all candidates as trials of one batch

The log is read once, in chunks, and results are written as they come: memory does not grow with the log. docs/replay.md
states the format, the rules for dirty data, and the outputs.
"""
