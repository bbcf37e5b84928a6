"""A campaign as a program of its own, to be killed: `python -m tests.gnc.montecarlo.driver FOLDER TRIALS DELAY_S`."""

if __name__ == "__main__":  # the imports too, since worker processes read this file first
    import sys
    from pathlib import Path

    from gnc.montecarlo import campaign
    from gnc.montecarlo.engines import LocalProcesses
    from tests.gnc.montecarlo.flights import CONFIGURATION, Walk

    folder, trials, delay_s = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    campaign.run(
        Walk(total=trials, delay_s=delay_s, lost=(3, 30)),
        CONFIGURATION,
        seed=1,
        trials=trials,
        out=folder,
        resume=(folder / "manifest.json").exists(),
        engine=LocalProcesses(2),
        chunk_size=5,
        consistency={"nees": 2},
    )
