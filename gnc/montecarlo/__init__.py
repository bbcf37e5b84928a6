"""Monte Carlo campaigns: dispersions, engines, a store that survives, statistics. Knows no spacecraft.

- dispersions, sampling: what is random in a trial, drawn from (seed, trial)
- flight: what a scenario gives, trial numbers in and arrays out
- engines, dask_engine: where chunks of trials fly
- store, manifest: chunk files on disk, checked and resumed
- statistics, ensemble, summary, export: intervals, bands, sensitivities, tables
- campaign: all of it in one call, `campaign.run`
"""
