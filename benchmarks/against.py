"""Measure a mission against an old commit: `python -m benchmarks.against COMMIT [MISSION [TRIALS [ROUNDS]]]`.

The commit is checked out in a temporary folder, and both versions fly by the command line, in processes of their own
that take turns. What counts is CPU time, which other programs disturb least: that of a long flight less that of a short
one, so that start and compilation fall out; of each the best of the rounds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
SHORT_S, LONG_S = 200, 1000  # of flight
KEYS = "run.duration_s", "duration_s"  # as the file calls it now, and did before missions were composed


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Give a folder with the files of a commit, for as long as they are needed."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "then"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(there), commit], cwd=HERE, check=True)
        try:
            yield there
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(there)], cwd=HERE, check=True)


def cpu_s(source: Path, words: list[str]) -> tuple[int, float]:
    """Return the exit code of a command of some version, and its CPU time."""
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "gnc.scenarios", *words, "--out", f"{out}/flight"]
        with subprocess.Popen(command, cwd=source, env=environment, stdout=-3, stderr=-3) as running:  # -3: nowhere
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
    return running.returncode, used.ru_utime + used.ru_stime


def flights(source: Path, mission: str, trials: int) -> dict[int, list[str]]:
    """Return the commands of a short and of a long flight, in the words that this version knows."""
    for key in KEYS:
        words = ["run", mission, "--trials"]
        if cpu_s(source, [*words, "1", "--set", f"{key}=10"])[0] in (0, 1):  # which compiles, too
            return {s: [*words, str(trials), "--set", f"{key}={s}"] for s in (SHORT_S, LONG_S)}
    raise SystemExit(f"benchmarks.against: {source.name} cannot fly {mission}")


def main(commit: str, mission: str = "pointing", trials: int = 1000, rounds: int = 5) -> None:
    """Print how long both take, and the ratio of their rates."""
    with checkout(commit) as there:
        versions = {"then": there, "now": HERE}
        commands = {name: flights(source, mission, trials) for name, source in versions.items()}
        best: dict[tuple[str, int], float] = {}
        for _ in range(rounds):
            for name, source in versions.items():
                for seconds, words in commands[name].items():
                    used = cpu_s(source, words)[1]
                    best[name, seconds] = min(best.get((name, seconds), used), used)
    each = {name: best[name, LONG_S] - best[name, SHORT_S] for name in versions}
    for name, used in each.items():
        print(f"{name}: {used:.3f} s of CPU time for {LONG_S - SHORT_S} s of flight of {trials} trials")
    print(f"rate of now over that of {commit}: {each['then'] / each['now']:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:3], *(int(number) for number in sys.argv[3:]))
