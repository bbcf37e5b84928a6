"""Random numbers of a trial, from (seed, trial number, name of the stream) and nothing else.

A trial draws the same numbers alone, in a batch of any size, in any order and on any worker; a longer run of it begins
with the numbers of the shorter one. Streams with another seed, trial or name are independent.

Generators of many trials at once, seeded as NumPy's SeedSequence seeds them one by one.

`SeedSequence(seed, spawn_key=(trial, *words))` mixes whole numbers of 32 bits into a pool of four and draws the state
of a generator from that. All of it is arithmetic modulo 2^32, here on arrays with one number per trial, which is about
eight times as fast. Source: the documentation of NumPy's SeedSequence, after O'Neill, "Developing a seed_seq
Alternative" (2015).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

from gnc.errors import InputError
from gnc.typing import Array

Words = NDArray[np.uint32]  # one for each trial

POOL = 4
MASK = 2**32 - 1
MIX_START, MIX_FACTOR = 0x43B0D7E5, 0x931E8875
DRAW_START, DRAW_FACTOR = 0x8B51F9DD, 0x58F38DED
LEFT, RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
HALF = np.uint32(16)
FEW = 4  # trials for which arrays do not pay


def generators(seed: int, trials: Sequence[int], words: Sequence[int]) -> list[np.random.Generator]:
    """Return the generators of `SeedSequence(seed, spawn_key=(trial, *words))` for all trials."""
    seeds: Iterator[Any]
    if len(trials) < FEW:
        seeds = (np.random.SeedSequence(seed, spawn_key=(trial, *words)) for trial in trials)
    else:
        seeds = map(_Ready, _states(_pool(seed, np.array(trials, np.uint32), words)))
    return [np.random.Generator(np.random.PCG64(one)) for one in seeds]


class _Ready(ISeedSequence):
    """A seed whose state has been drawn."""

    def __init__(self, state: NDArray[np.uint64]) -> None:
        self.state = state

    def generate_state(self, n_words: int, dtype: object = np.uint32) -> NDArray[np.uint64]:
        """Return the four words of 64 bits that PCG64 asks for."""
        return self.state


class _Hash:
    """Scrambles numbers, with another factor at every call."""

    def __init__(self, start: int, factor: int) -> None:
        self._constant, self._factor = start, factor

    def __call__(self, x: Words) -> Words:
        x = x ^ np.uint32(self._constant)
        self._constant = (self._constant * self._factor) & MASK
        x = x * np.uint32(self._constant)
        return x ^ (x >> HALF)


def _mixed(x: Words, y: Words) -> Words:
    x = LEFT * x - RIGHT * y
    return x ^ (x >> HALF)


def _pool(seed: int, trials: Words, words: Sequence[int]) -> list[Words]:
    """Return the four mixed numbers of each trial."""
    seeds = [(seed >> 32 * i) & MASK for i in range(POOL)]  # a seed has at most two words; the key comes after four
    entropy = [*(np.full_like(trials, x) for x in seeds), trials, *(np.full_like(trials, x) for x in words)]
    scrambled = _Hash(MIX_START, MIX_FACTOR)
    pool = [scrambled(x) for x in entropy[:POOL]]
    for i in range(POOL):
        for j in range(POOL):
            if i != j:
                pool[j] = _mixed(pool[j], scrambled(pool[i]))
    for x in entropy[POOL:]:
        pool = [_mixed(one, scrambled(x)) for one in pool]
    return pool


def _states(pool: list[Words]) -> Iterator[NDArray[np.uint64]]:
    """Return the states of the trials, four words of 64 bits each, drawn from their pools."""
    scrambled = _Hash(DRAW_START, DRAW_FACTOR)
    drawn = np.stack([scrambled(pool[i % POOL]) for i in range(2 * POOL)], axis=-1)
    low, high = drawn[:, 0::2].astype(np.uint64), drawn[:, 1::2].astype(np.uint64)
    return iter(low | (high << np.uint64(32)))


Trials = int | Sequence[int] | NDArray[np.integer]

SEED_LIMIT = 2**64
TRIAL_LIMIT = 2**32  # one word of the spawn key: two trials can then never spell the same key


def stream(seed: int, trial: int, name: str) -> np.random.Generator:
    """The generator of one stream of one trial."""
    seed = _whole("seed", seed, SEED_LIMIT)
    trial = _whole("trial", trial, TRIAL_LIMIT)
    return generators(seed, [trial], _words(name))[0]


def normal(seed: int, trials: Trials, name: str, shape: int | tuple[int, ...] = ()) -> Array:
    """Standard normal numbers, `(number of trials, *shape)`; `trials` is how many, or which."""
    return _draw(np.random.Generator.standard_normal, seed, trials, name, shape)


def uniform(seed: int, trials: Trials, name: str, shape: int | tuple[int, ...] = ()) -> Array:
    """Numbers uniform in [0, 1), `(number of trials, *shape)`; `trials` is how many, or which."""
    return _draw(np.random.Generator.random, seed, trials, name, shape)


class Stream:
    """The standard normal numbers of one stream of many trials, a few at a time: `next()` gives `(trials, size)`.

    They are those of `normal(seed, trials, name, (steps, size))`, without the memory of all steps.
    """

    BLOCK, FEW_TRIALS = 192, 8  # how many are drawn ahead; a few trials have as many as this number of trials would

    def __init__(self, seed: int, trials: Trials, name: str, size: int) -> None:
        which, self.size = _numbers(trials), _whole("size", size, TRIAL_LIMIT)
        self._generators = generators(_whole("seed", seed, SEED_LIMIT), which, _words(name))
        self._block = self._used = self.BLOCK * max(1, self.FEW_TRIALS // max(1, len(which)))
        self._ahead = np.empty((len(which), self._block, self.size))

    @property
    def walking(self) -> NDArray[np.bool_]:
        """Which of the numbers are those of a random walk."""
        return np.zeros(self.size, bool)

    def next(self) -> Array:
        """Return the next numbers of every trial."""
        if self._used == self._block:
            self._draw()
        self._used += 1
        return self._ahead[:, self._used - 1].copy()

    @property
    def ready(self) -> int:
        """How many can be taken at once."""
        if self._used == self._block:
            self._draw()
        return self._block - self._used

    def _draw(self) -> None:
        for generator, rows in zip(self._generators, self._ahead, strict=True):
            generator.standard_normal(out=rows)
        self._used = 0

    def take(self, n: int) -> Array:
        """Return the next n, at most as many as are `ready`: (trials, n, size), valid until the next are taken."""
        if n > self.ready:
            raise ValueError(f"n: {n} of {self.ready} that are ready")
        self._used += n
        return self._ahead[:, self._used - n : self._used]

    def give_back(self, n: int) -> None:
        """Undo the last `take`, so that its numbers are the next again."""
        self._used -= n


class Streams(Stream):
    """Streams side by side; the numbers of each are those that it gives alone."""

    def __init__(self, *streams: Stream) -> None:
        self._each, self.size = streams, sum(one.size for one in streams)
        self._block = self._used = streams[0]._block
        self._ahead = np.empty((len(streams[0]._ahead), self._block, self.size))

    @property
    def walking(self) -> NDArray[np.bool_]:
        """Which of the numbers are those of a random walk."""
        return np.concatenate([one.walking for one in self._each])

    def _draw(self) -> None:
        for one in self._each:
            one._draw()
        np.concatenate([one._ahead for one in self._each], axis=-1, out=self._ahead)
        self._used = 0


class Walk(Stream):
    """The sums of the numbers of a stream so far: a random walk."""

    def __init__(self, steps: Stream) -> None:
        self._steps, self.size = steps, steps.size
        self._ahead = np.zeros_like(steps._ahead)
        self._block = self._used = steps._block

    @property
    def walking(self) -> NDArray[np.bool_]:
        """All of them."""
        return np.ones(self.size, bool)

    def _draw(self) -> None:
        so_far = self._ahead[:, -1].copy()
        self._steps._draw()
        self._steps._ahead[:, 0] += so_far
        np.cumsum(self._steps._ahead, axis=1, out=self._ahead)
        self._used = 0


def _draw(fill: Callable[..., Array], seed: int, trials: Trials, name: str, shape: int | tuple[int, ...]) -> Array:
    seed, which, words = _whole("seed", seed, SEED_LIMIT), _numbers(trials), _words(name)
    core = tuple(_whole("shape", n, TRIAL_LIMIT) for n in (shape if isinstance(shape, tuple) else (shape,)))
    drawn = np.empty((len(which), *core))
    for row, generator in zip(drawn.reshape(len(which), math.prod(core)), generators(seed, which, words), strict=True):
        fill(generator, out=row)
    return drawn


def _words(name: str) -> tuple[int, int]:
    """The name as two 32-bit words; Python's own hash() differs from process to process."""
    if not isinstance(name, str) or not name:
        raise InputError(f"name: expected the name of a stream, got {name!r}")
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")


def _numbers(trials: Trials) -> list[int]:
    if np.ndim(trials) == 0:
        return list(range(_whole("trials", trials, TRIAL_LIMIT)))
    return [_whole("trials", t, TRIAL_LIMIT) for t in trials]  # type: ignore[union-attr]


def _whole(name: str, value: object, limit: int) -> int:
    """A whole number from 0 up to below `limit`."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"{name}: expected a whole number, got {value!r}") from None
    if isinstance(value, bool) or not 0 <= number < limit:
        raise InputError(f"{name}: expected a whole number from 0 to {limit - 1}, got {value!r}")
    return number
