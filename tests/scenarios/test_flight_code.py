"""Missions flown by their flight code: every bit on every target, losses on the wire, software of others."""

import dataclasses
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gnc.errors import InputError
from gnc.export.aboard import Library, Processor
from gnc.export.component_files import TARGETS, export_component, measured
from gnc.export.kernel_files import FLAGS
from gnc.scenarios.cli import main
from gnc.scenarios.covariance.arithmetic import compared
from gnc.scenarios.missions import dispersal
from gnc.scenarios.missions.build import prepare
from gnc.scenarios.missions.flight import fly
from gnc.scenarios.missions.flight_code import FlightCode, component_of
from gnc.scenarios.missions.load import read
from gnc.trees import leaves
from tests.gnc.export.test_software import checked_by_tools

pytestmark = [pytest.mark.jit, pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")]

ROOT = Path(__file__).parents[2]
SMALL = "commissioning"
SHORT = ["run.duration_s=30", "run.record_s=1"]
BUILDS = {
    "gcc -O0": ("gcc", "-O0"),
    "gcc -O2": ("gcc", "-O2"),
    "gcc -O3": ("gcc", "-O3"),
    "clang -O2": ("clang", "-O2"),
}
BOARDS = {
    "64-bit ARM": ("aarch64-linux-gnu-gcc", "-O2", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
    "32-bit ARM": ("arm-linux-gnueabihf-gcc -mthumb", "-O2", "qemu-arm -L /usr/arm-linux-gnueabihf"),
}


def needed(*tools):
    """Skip by name where a tool is missing; where CI has installed them that is a failure."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing and os.environ.get("GNC_COMPILERS") == "required":
        pytest.fail(f"not installed in CI: {', '.join(missing)}")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def exported(name, folder, *settings, **options):
    """Export a mission; return it with its component."""
    mission = read(name, settings)
    craft = next(iter(mission.software))
    component, truth = component_of(mission, craft, **options)
    export_component(component, truth, folder, {"mission": name, "craft": craft}, sizes=False)
    return mission, component


def made(folder, target, compiler, optimisation):
    """Make a program of an exported folder; warnings are errors."""
    command = ["make", "-s", "-B", target, f"CC={compiler}", f"OPTIMISATION={optimisation} -Werror"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return folder / target


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The smallest built-in software: gyro, trackers, magnetometer, several modes."""
    folder = tmp_path_factory.mktemp("flight") / "code"
    return folder, *exported(SMALL, folder)


class Recorded:
    """Flies compiled flight code, and writes what it is told with the hash of what it answers."""

    def __init__(self, flown, path):
        self.flown, self.file, self.steps = flown, path.open("wb"), 0

    def begin(self, start):
        self.flown.begin(start)
        np.array([len(start), -1.0, 0.0]).tofile(self.file)
        start.tofile(self.file)

    def step(self, tick, arrived, given):
        answer = self.flown.step(tick, arrived, given)
        np.array([len(given), tick, arrived], float).tofile(self.file)
        given.tofile(self.file)
        hashed(answer).tofile(self.file)
        self.steps += 1
        return answer


def hashed(numbers):
    """The hash of rows of numbers, as `recorded.c` has it: any one change shows, others but by chance of 2^-64."""
    factors, factor = np.empty(numbers.shape[1], np.uint64), 1
    for k in range(len(factors)):
        factor = (factor * 6364136223846793005 + 1442695040888963406) % 2**64
        factors[k] = factor
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
    return (bits * factors).sum(axis=1, dtype=np.uint64)


def watched(mission, trials, flight_code=None):
    """Fly; return the hash of all numbers of command and belief of every trial, wherever something is new."""
    groups = dispersal.groups(mission, mission.run.seed, np.arange(trials))
    built = [(group, prepare(group, mission.run.seed)) for group in groups]
    seen = []
    for group, one in flight_code.aboard(mission, built, mission.run.seed) if flight_code else built:
        flat = lambda tree: [x.reshape(len(group.trials), -1) for x in leaves(tree) if isinstance(x, np.ndarray)]  # noqa: B023, E731
        note = lambda now: seen.append(hashed(np.hstack([*flat(now.belief), *flat(now.command)], dtype=float)))  # noqa: B023, E731
        every = math.gcd(one.loop.commanded.every, *(schedule.every for _, schedule in one.loop.measured))
        loop = dataclasses.replace(one.loop, record_s=one.loop.h * every)
        loop.fly(one.truth, one.belief, one.memory, note)
    return np.concatenate(seen)


def flights_agree(mission, component, folder, trials, on_boards, monkeypatch):
    """Fly in Python and by flight code of gcc -O2, then by all builds what that was told; return what builds tell."""
    record = folder / "recorded.bin"
    carrier = Recorded(Library(folder, component), record)
    library = lambda folder, other: carrier if other.hash == component.hash else pytest.fail("another configuration")  # noqa: E731
    monkeypatch.setattr("gnc.scenarios.missions.flight_code.Library", library)
    assert np.array_equal(watched(mission, trials), watched(mission, trials, FlightCode(str(folder))))
    carrier.file.close()
    (folder / "recorded.c").write_text(
        (ROOT / "tests/scenarios/recorded.c").read_text().replace("NAME", component.name)
    )
    told = {}
    for name, (compiler, flags, *emulator) in (BUILDS | BOARDS).items():
        program = compiled(folder, folder / "recorded.c", compiler, flags)
        flown = [*" ".join(emulator).split(), program, record, str(on_boards if emulator else trials)]
        run = subprocess.run(flown, capture_output=True, text=True)
        told[name] = run.stdout
        assert run.returncode == 0 and " 0 differ" in run.stdout, f"{name}: {run.stdout}{run.stderr}"
    assert carrier.steps > 20
    return told


def test_all_builds_fly_the_bits_of_python(small, monkeypatch):
    needed("clang", *(word.split()[0] for board in BOARDS.values() for word in (board[0], board[2])))
    folder, _, component = small
    flights_agree(read(SMALL, SHORT), component, folder, 3, 1, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pointing", "rendezvous", "commissioning"])
def test_all_builds_fly_the_bits_of_python_in_a_whole_campaign(name, monkeypatch, tmp_path):
    needed("clang", *(word.split()[0] for board in BOARDS.values() for word in (board[0], board[2])))
    mission, component = exported(name, tmp_path)
    print(name, flights_agree(mission, component, tmp_path, 100, 20, monkeypatch))


def compiled(folder, program, compiler, *flags):
    """Compile a program with the component, warnings as errors."""
    name = next(path.stem for path in folder.glob("*_wire.c")).removesuffix("_wire")
    command = [*compiler.split(), *FLAGS.split(), "-Werror", *flags, "-I", ".", "-o", program.stem]
    run = subprocess.run(
        [*command, str(program), f"{name}.c", f"{name}_wire.c", "-lm"], cwd=folder, capture_output=True
    )
    assert run.returncode == 0, run.stderr.decode()
    return folder / program.stem


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pointing", "rendezvous", "commissioning"])
def test_sanitisers_valgrind_and_cppcheck_find_nothing(name, tmp_path):
    needed("valgrind", "cppcheck")
    exported(name, tmp_path)
    checked_by_tools(tmp_path, name)


def test_pointing_fits_a_small_flash(tmp_path):
    needed("arm-linux-gnueabihf-gcc")
    exported("pointing", tmp_path)
    sizes = measured(tmp_path / "pointing.c", TARGETS["32-bit ARM, Thumb"])
    assert sum(code for code, _ in sizes.values()) < 256 * 1024
    assert 0 < sizes["pointing_step"][1] < 32 * 1024


def test_only_the_allowed_functions_are_called_and_nothing_is_kept_outside(small):
    command = ["gcc", "-std=c99", "-O0", "-c", f"{SMALL}.c", "-o", f"{SMALL}.o"]
    subprocess.run(command, cwd=small[0], check=True)
    listed = subprocess.run(["nm", f"{SMALL}.o"], cwd=small[0], check=True, capture_output=True, text=True).stdout
    kinds = [line.split()[-2:] for line in listed.splitlines()]
    allowed = {"sqrt", "fabs", "floor", "rint", "copysign", "memcpy", "memset", "_GLOBAL_OFFSET_TABLE_"}
    assert {name for kind, name in kinds if kind == "U"} <= allowed
    assert not [name for kind, name in kinds if kind in "BbDdCGgSs"]


def test_tables_of_surroundings_are_those_of_the_flight(small, tmp_path):
    component, truth = component_of(read(SMALL, ["run.duration_s=120"]), "sat")
    export_component(component, truth, tmp_path, {"craft": "sat"}, tables=True, sizes=False)
    first = next(one.name for one in component.software.inputs if one.name.startswith("surroundings"))
    text = (ROOT / "tests" / "scenarios" / "surroundings.c").read_text()
    (tmp_path / "compared.c").write_text(text.replace("NAME", SMALL).replace("FIRST", first))
    assert subprocess.run([compiled(tmp_path, tmp_path / "compared.c", "gcc", "-O0")]).returncode == 0


def test_another_configuration_is_refused_with_one_line_and_nothing_is_written(small, tmp_path, capsys):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    about = {"name": "../../x", "craft": "sat", "single": False, "most_repeats": 10}
    (elsewhere / "flight_code.json").write_text(json.dumps(about))
    asked = ["run", SMALL, "--trials", "1", "--set", "run.duration_s=30", "--out", str(out)]
    for more, message in (
        (["--set", "craft.sat.J_kgm2=[[0.2,0,0],[0,0.2,0],[0,0,0.2]]", "--flight-code", str(small[0])], "the hash"),
        (["--flight-code", str(tmp_path)], "flight_code.json"),
        (["--flight-code", str(elsewhere)], "was not exported from this mission"),
        (["--flight-code", "pipe:false"], "nobody answers"),
        (["--flight-code", "tcp:127.0.0.1:1"], "give pipe:COMMAND or tcp:HOST:PORT"),
    ):
        assert main([*asked, *more]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1 and not out.exists()
    assert main(["export", "separation", "--craft", "nobody", "--out", str(out)]) == 2
    assert main(["export", "pointing", "kernel", "--out", str(out)]) == 2 and not out.exists()
    asked = ["export", "kernel", "gnc.quaternion:mul", "--compare", "2", "--out", str(out)]
    assert main(asked) == 2 and not out.exists()


def same(first, second):
    names = set(first.data_vars) | set(second.data_vars)
    return all(np.array_equal(first[n].values, second[n].values, equal_nan=first[n].dtype.kind == "f") for n in names)


@pytest.mark.parametrize("trouble", [{}, {"SERVER_LOSE": "5"}, {"SERVER_LATE": "12"}], ids=["sound", "loses", "late"])
def test_a_processor_in_the_loop_flies_the_same_bits_whatever_gets_lost(small, trouble, monkeypatch):
    folder, _, component = small
    server = made(folder, "server", "gcc", "-O1")
    for name, value in trouble.items():
        monkeypatch.setenv(name, value)
    mission = read(SMALL, SHORT)
    # three trials, as many as vectors have parts: what is observed cannot be recorded, and first ticks are tried twice
    code = fly(mission, 3, flight_code=FlightCode(f"{folder}@pipe:{server}", 0.25)).signals
    assert same(code, fly(mission, 3).signals)
    counts = dict(reversed(one.split()) for one in code.attrs["flight_code"].split(", ")[1:])
    steps = np.count_nonzero(component.software.new * component.software.loop.h <= 30.0)
    assert int(counts["asked"]) == 3 + 3 * steps and counts["held"] == "0"
    assert (int(counts["lost"]) > 0) == bool(trouble) and (int(counts["late"]) > 0) == ("SERVER_LATE" in trouble)


def test_what_another_arithmetic_changes_is_flown_and_predicted(tmp_path):
    """Roundings of two flights, an RMS of each: within a factor of three of one another."""
    mission, _ = exported(SMALL, tmp_path, *SHORT, single=True)
    told = {one["signal"]: one for one in compared(mission, tmp_path, 2, 0)["differences"]}
    for name in ("sat.w_B_deg_s", "sat.torquers.dipole_Am2"):
        one = told[name]
        assert 1e-9 < one["difference"] / one["rms"] < 1e-5 and 1 / 3 < one["predicted"] / one["difference"] < 3, one


@pytest.mark.slow
def test_single_precision_flies_poses(tmp_path):
    """Tolerances of double precision would refuse every step of the pose filter."""
    mission, _ = exported("rendezvous", tmp_path, "run.duration_s=30", "run.record_s=1", single=True)
    told = {one["signal"]: one for one in compared(mission, tmp_path, 2, 0)["differences"]}
    assert all(one["difference"] < 1e-3 for name, one in told.items() if name.startswith("chaser.knowledge"))


@pytest.mark.slow
def test_the_same_arithmetic_changes_nothing(small):
    told = compared(read(SMALL, SHORT), small[0], 2, 0)["differences"]
    assert told and all(one["difference"] == one["largest"] == one["predicted"] == 0.0 for one in told)


def test_the_last_command_holds_where_a_processor_does_not_answer(small):
    folder, _, component = small
    processor = Processor(f"pipe:{made(folder, 'server', 'gcc', '-O1')}", component, 0.05)
    sizes = [component.size(key) for key in ("parameters", "belief", "command", "memory")]
    processor.begin(np.ones((1, sum(sizes))))
    processor._process.kill()
    held = processor.step(0, 1, np.zeros((1, component.size("inputs"))))
    assert np.array_equal(held[0, : sizes[2]], np.ones(sizes[2])) and np.isnan(held[0, sizes[2]])
    assert processor.counts["held"] == 1
    with pytest.raises(InputError, match="does not answer any more"):
        for tick in range(1, 30):
            processor.step(tick, 1, np.zeros((1, component.size("inputs"))))


def test_own_software_in_python_and_in_c_flies_a_mission_over_pipe_and_tcp(tmp_path):
    examples = ROOT / "docs" / "examples"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-o", str(tmp_path / "own")]
    subprocess.run(["gcc", *flags, str(examples / "own_software.c")], check=True)
    mission = read("detumble", ["run.duration_s=1500", "run.record_s=10"])
    flights = [
        fly(mission, 2, flight_code=FlightCode(f"pipe:{program}")).signals
        for program in (f"{sys.executable} {examples / 'own_software.py'}", tmp_path / "own")
    ]
    assert same(*flights) and "0 lost" in flights[0].attrs["flight_code"]
    rate = np.linalg.norm(flights[0]["sat.w_B_deg_s"].values, axis=-1)
    assert (rate[-1] < 0.5 * rate[0]).all()  # B-dot halves the rate within 25 min at this gain


def test_a_server_on_tcp_flies_the_same_bits(small):
    folder, _, _ = small
    server = made(folder, "server", "gcc", "-O1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([server, str(port)])
    try:
        time.sleep(1.0)
        mission = read(SMALL, SHORT)
        code = fly(mission, 2, flight_code=FlightCode(f"{folder}@tcp:127.0.0.1:{port}", 5.0)).signals
        assert same(code, fly(mission, 2).signals)
    finally:
        process.kill()
        process.wait()


def test_a_campaign_by_flight_code_has_the_results_of_python(small, tmp_path, capsys):
    asked = ["monte-carlo", SMALL, "--trials", "3", "--workers", "1", "--set", "run.duration_s=30", "--json"]
    told = []
    for name, more in (("python", []), ("code", ["--flight-code", str(small[0])])):
        assert main([*asked, "--out", str(tmp_path / name), *more]) == 1  # no data so early
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["metrics"] == told[1]["metrics"]
