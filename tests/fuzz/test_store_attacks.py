"""Every file of a campaign flipped, cut, deleted, replaced by another kind: the same bytes in the end, or one line.

On the old code a flipped digit of the manifest removed all chunks, a FIFO hung, and a folder gave a traceback.
"""

import os
import shutil
from pathlib import Path

import pytest

from gnc.errors import InputError
from gnc.montecarlo import campaign
from tests.gnc.montecarlo.flights import CONFIGURATION, Walk

KINDS = ("manifest.json", "trials-000000004*", "metrics.json", "bands.nc", "lock", "damaged")


def fly(out: Path, resume: bool = False) -> campaign.Campaign:
    return campaign.run(Walk(total=8), CONFIGURATION, 1, 8, out, chunk_size=4, resume=resume)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A finished campaign with something set aside before."""
    out = tmp_path_factory.mktemp("store") / "run"
    fly(out)
    next(out.glob("trials-*")).write_bytes(b"damaged")
    fly(out, resume=True)
    return out


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes() or b"\0")
    data[len(data) // 3] ^= 4
    path.write_bytes(data)


def instead(make):
    def attack(path: Path) -> None:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        make(path)

    return attack


ATTACKS = {
    "flip": flip,
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "delete": instead(lambda path: None),
    "replace": lambda path: path.write_bytes(b"of another kind"),
    "folder": instead(lambda path: (path.mkdir(), (path / "inside").write_text("mine"))),
    "link to nowhere": instead(lambda path: path.symlink_to("nowhere")),
    "link to a file": instead(lambda path: path.symlink_to(path.parent.parent / "thesis")),
    "link to a device": instead(lambda path: path.symlink_to("/dev/zero")),
    "link to itself": instead(lambda path: path.symlink_to(path.name)),
    "FIFO": instead(os.mkfifo),
}


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file() and path.name != "lock"}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_attack_on_a_file_is_mended_or_told_in_one_line(whole: Path, tmp_path: Path, kind: str, attack: str) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (tmp_path / "thesis").write_text("all of it")
    path = next(out.glob(kind))
    if path.is_dir() and attack in ("flip", "cut", "replace"):
        return
    ATTACKS[attack](path)
    if kind == "damaged":  # only matters if there is something to set aside
        flip(next(out.glob("trials-000000000*")))
    before = {p.name for p in out.iterdir()}
    try:
        fly(out, resume=True)
    except InputError as error:
        assert "\n" not in str(error) and str(tmp_path) in str(error)
        assert before <= {p.name for p in out.iterdir()} | {"lock"}
    else:
        expected = contents(whole)
        assert {name: data for name, data in contents(out).items() if name in expected} == expected
    assert (tmp_path / "thesis").read_text() == "all of it"
    chunks = [p.name for p in whole.glob("trials-*")]
    aside = [p.name for p in (out / "damaged").iterdir()] if (out / "damaged").is_dir() else []
    lost = [name for name in chunks if name not in contents(out) and not any(a.startswith(name) for a in aside)]
    assert not lost or (kind.startswith("trials") and attack == "delete")
