"""Monte Carlo campaigns: dispersions, engines, a store that survives, statistics. Knows no spacecraft.

- dispersions, sampling: what is random in a trial, drawn from (seed, trial)
- flight: what a scenario gives, trial numbers in and arrays out
- engines: where chunks of trials fly
- identity, store: what a campaign is; its chunk files on disk, checked and resumed
- statistics, summary: intervals, bands, sensitivities, tables
- campaign: all of it in one call, `campaign.run`
"""
