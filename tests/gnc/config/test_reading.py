"""A file may be anything; what is not a configuration is refused in one line that names it."""

import os
from pathlib import Path

import pytest

from gnc.config import parse, read
from gnc.errors import InputError
from tests.gnc.config.mission import MISSION, Mission


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path, Mission)
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; give at least one of the keys title, duration_s"),
        (b" \n\t\n", "is empty"),
        (b"\x7fELF\0\0", "is binary"),
        (b"title = 'a'\nlabel = '\xe9'", "line 2 is not UTF-8; save the file as UTF-8"),
        (b"# comment\n" * 100_001, "a TOML file has at most 1000000"),
    ],
)
def test_content_that_is_no_configuration_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "mission.toml").write_bytes(content)
    assert said in refused(tmp_path / "mission.toml")


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "no such file or directory; give a TOML file" in refused(tmp_path / "absent.toml")
    assert "is a directory; give a TOML file" in refused(tmp_path)
    assert "is not a regular file; give a TOML file" in refused(tmp_path / "pipe")
    assert "file name too long; give a TOML file" in refused(tmp_path / ("a" * 300))


@pytest.mark.parametrize("encode", [lambda s: b"\xef\xbb\xbf" + s.encode(), lambda s: s.replace("\n", "\r\n").encode()])
def test_what_editors_on_windows_write_is_read(tmp_path: Path, encode) -> None:
    (tmp_path / "mission.toml").write_bytes(encode(MISSION))
    assert read(tmp_path / "mission.toml", Mission) == parse(MISSION, Mission)
