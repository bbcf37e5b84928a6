"""Mutants of text files, each drawn from a seed: what hands, disks and editors do to them."""

import random
import re

VALUES = (
    "0", "-1", "1", "3", "1e30", "-1e30", "1e-30", "nan", "inf", "9223372036854775808", "0.0333333", "true", '"text"',
    "[]", "[1, 2, 3]", "[[0, 0], [0, 0]]", "{}", "2025-01-01", '"pointing"', '"\\u0000"', "'x.py:Law'", "",
)  # fmt: skip
WORDS = (
    "kind",
    "own",
    "source",
    "base",
    "remove",
    "x" * 300,
    "é",
    "[",
    "]",
    "=",
    '"',
    "#",
    "\\",
    "\t",
    "\ufeff",
    "\x7f",
)
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


def mutant(text: str, seed: str) -> str:
    """Change a text in one to three places."""
    chance = random.Random(seed)
    for _ in range(chance.choice((1, 1, 2, 3))):
        text = chance.choice(CHANGES)(text, chance)
    return text


def _value(text: str, chance: random.Random) -> str:
    """Give a key another value."""
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if " = " in line and not line.startswith("#")]
    if places:
        i = chance.choice(places)
        lines[i] = f"{lines[i].split(' = ')[0]} = {chance.choice(VALUES)}"
    return "\n".join(lines)


def _number(text: str, chance: random.Random) -> str:
    """Scale a number, turn its sign, or make it no number."""
    places = list(NUMBER.finditer(text))
    if not places:
        return text
    place = chance.choice(places)
    number = chance.choice(("0", "-" + place[0], place[0] + "e9", place[0] + "e-9", "nan", "inf", place[0] * 40))
    return text[: place.start()] + number + text[place.end() :]


def _line(text: str, chance: random.Random) -> str:
    """Take a line out, put it in twice, or elsewhere."""
    lines = text.split("\n")
    i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
    line = lines.pop(i)
    lines[j:j] = chance.choice(([], [line, line], [line]))
    return "\n".join(lines)


def _word(text: str, chance: random.Random) -> str:
    """Misspell, or put something in."""
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice((*WORDS, "")) + text[place + chance.randrange(3) :]


def _end(text: str, chance: random.Random) -> str:
    """Lose the end."""
    return text[: chance.randrange(len(text) + 1)]


def _depth(text: str, chance: random.Random) -> str:
    """Nest deeply."""
    n = chance.choice((50, 5000))
    return text + chance.choice((f"\nx = {'[' * n}{']' * n}", f"\n[{'.'.join('a' * n)}]\n", "\nx = " + "{a=" * n))


CHANGES = (_value, _value, _value, _number, _number, _line, _line, _word, _end, _depth)
