"""Compiled code on disk: found again, renewed after an edit, never trusted when damaged."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from gnc.batch import batched, cache

ROOT = Path(__file__).parents[3]
PROGRAM = """
import numpy as np
from gnc.batch import batched, compiled
count = []
inner = compiled._compile
compiled._compile = lambda *a: (count.append(1), inner(*a))[1]
{helper}
@batched("(3)->(3)")
def kernel(x):
    {comment}
    return helper(x)
print(kernel(np.arange(3.0)).tolist(), len(count))
"""


def run(folder, helper="def helper(x): return 2.0 * x", comment="pass", **env):
    program = PROGRAM.format(helper=helper, comment=comment)
    environment = dict(os.environ, GNC_CACHE_DIR=str(folder), PYTHONPATH=str(ROOT), NUMBA_DISABLE_JIT="0", **env)
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


def test_a_second_process_compiles_nothing(tmp_path):
    assert run(tmp_path) == "[0.0, 2.0, 4.0] 1"
    assert run(tmp_path) == "[0.0, 2.0, 4.0] 0"


def test_an_edit_in_a_helper_is_noticed_and_a_comment_is_not(tmp_path):
    assert run(tmp_path).endswith(" 1")
    assert run(tmp_path, comment="# a comment\n    pass").endswith(" 0")
    assert run(tmp_path, helper="def helper(x): return 3.0 * x") == "[0.0, 3.0, 6.0] 1"


@pytest.mark.parametrize(
    "damage", [lambda code: b"", lambda code: code[:-7], lambda code: code[:60] + b"?" + code[61:]]
)
def test_a_damaged_file_is_compiled_again(tmp_path, damage):
    run(tmp_path)
    (file,) = tmp_path.glob("*.o")
    file.write_bytes(damage(file.read_bytes()))
    assert run(tmp_path) == "[0.0, 2.0, 4.0] 1"
    assert run(tmp_path).endswith(" 0")


def test_no_writable_folder_means_compiling_in_memory(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder should be")
    assert run(blocked / "cache") == "[0.0, 2.0, 4.0] 1"
    assert blocked.read_text() == "a file where a folder should be"


def test_a_folder_of_somebody_else_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setenv("GNC_CACHE_DIR", str(tmp_path))
    cache.save("key", b"code")
    assert cache.load("key") == b"code"
    monkeypatch.setattr(os, "getuid", lambda: 12345678, raising=False)
    assert cache.load("key") is None
    cache.save("other", b"code")
    assert not (tmp_path / "other.o").exists()


def test_several_processes_may_start_cold_at_once(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: run(tmp_path), range(4)))
    assert all(answer.startswith("[0.0, 2.0, 4.0]") for answer in answers)
    assert [p.suffix for p in tmp_path.iterdir()] == [".o"]


def test_threads_may_meet_a_cold_kernel_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("GNC_CACHE_DIR", str(tmp_path))
    kernel = batched("(3)->(3)")(lambda x: x * x[0] + 1.5)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda k: kernel(np.full(3, float(k))), range(32)))
    assert all(np.array_equal(r, np.full(3, k * k + 1.5)) for k, r in enumerate(results))


def test_importing_gnc_compiles_and_loads_no_compiler():
    program = "import sys, gnc, gnc.batch; print([m for m in ('llvmlite', 'numba', 'scipy') if m in sys.modules])"
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o722])
def test_a_folder_that_others_may_write_to_is_not_trusted(tmp_path, monkeypatch, mode):
    """On the old code another user's object code ran."""
    monkeypatch.setenv("GNC_CACHE_DIR", str(tmp_path))
    cache.save("key", b"code")
    tmp_path.chmod(mode)
    assert cache.load("key") is None
    cache.save("other", b"code")
    assert [path.name for path in tmp_path.iterdir()] == ["key.o"]
    tmp_path.chmod(0o755)
    assert cache.load("key") == b"code"


def elsewhere(path):
    return path.rename(path.with_suffix(".moved"))


FILES = {
    "others may write": lambda path: path.chmod(0o666),
    "a link": lambda path: path.symlink_to(elsewhere(path)),
    "a FIFO": lambda path: (elsewhere(path), os.mkfifo(path)),
    "a folder": lambda path: (elsewhere(path), path.mkdir()),
    "of another key": lambda path: (cache.save("other", b"other"), (path.with_name("other.o")).replace(path)),
}


@pytest.mark.parametrize("attack", FILES)
def test_a_file_that_is_not_what_was_saved_is_not_trusted(tmp_path, monkeypatch, attack):
    monkeypatch.setenv("GNC_CACHE_DIR", str(tmp_path))
    cache.save("key", b"code")
    assert cache.load("key") == b"code"
    FILES[attack](tmp_path / "key.o")
    assert cache.load("key") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_of_somebody_else_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setenv("GNC_CACHE_DIR", str(tmp_path))
    cache.save("key", b"code")
    os.chown(tmp_path / "key.o", 12345, 12345)
    assert cache.load("key") is None
