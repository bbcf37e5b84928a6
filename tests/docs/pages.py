"""Run what a page of the documentation shows.

```python   is executed, all blocks of a page in one namespace
```sh       is run by bash, with `gnc` of this environment; it must succeed
a block whose first line is `# name.ext` is the file of that name, and is written
everything else (```text, indented blocks) is only shown
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"# ([\w-]+\.(?:py|toml))\n")


class Block(NamedTuple):
    """A fenced block and where it begins."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page that are run or written."""
    text = page.read_text(encoding="utf-8")
    found = [Block(m[1], m[2], text.count("\n", 0, m.start()) + 2) for m in BLOCK.finditer(text)]
    return [block for block in found if block.language in ("python", "sh") or FILE.match(block.text)]


def run(page: Path, folder: Path) -> None:
    """Run a page in a folder, which is the working directory."""
    space: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if file := FILE.match(block.text):
            (folder / file[1]).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            _shell(block, page, folder)
        else:
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), space)


def _shell(block: Block, page: Path, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["bash", "-e", "-o", "pipefail", "-c", block.text]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True)
    where = f"{page.name}, line {block.line}: exit {done.returncode}"
    assert done.returncode == 0, f"{where}\n{block.text}\n{done.stdout}\n{done.stderr}"
