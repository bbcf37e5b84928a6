"""Logs of messages: MCAP files and ROS 2 bags (a table per topic), PX4 ULog files (a table per topic and instance).

Fields of messages are columns by their path, `angular_velocity.x`, elements of short arrays `position[0]`. A table has
`log_time` [ns], and `stamp` [ns] where messages have a header. Messages are read one after the other, topic by topic:
memory does not grow with the log. MCAP messages are JSON or ROS 2's CDR; those of a ULog are read at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnc.errors import InputError
from gnc.scenarios.logs.array_tables import ArrayTable
from gnc.scenarios.logs.tables import Chunk, Table, missing

LONGEST_ARRAY = 64  # numbers; longer ones are pictures and clouds
NANO = 10**9
Messages = Callable[[], Iterator[tuple[int, Any]]]  # log time [ns] and content


class MessageTable:
    """The messages of one topic; the first tells the columns."""

    def __init__(self, messages: Messages) -> None:
        self._messages, self.malformed = messages, 0
        first = next(self._rows(), {})
        self.columns = list(first)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for log_time, content in self._messages():
            if content is None:  # it cannot be decoded
                self.malformed += 1
                continue
            row = {"log_time": log_time}
            _flatten("", content, row)
            if (seconds := row.pop("header.stamp.sec", row.pop("timestamp.sec", None))) is not None:
                nanoseconds = next((row.pop(k) for k in list(row) if k.endswith(("stamp.nanosec", "stamp.nsec"))), 0)
                row["stamp"] = int(seconds) * NANO + int(nanoseconds)
            yield row

    def chunks(self, numbers: Sequence[str], stamps: Sequence[str], rows: int) -> Iterator[Chunk]:
        """Read so many messages at a time."""
        wanted: list[dict[str, Any]] = []
        for row in self._rows():
            wanted.append(row)
            if len(wanted) == rows:
                yield _columns(wanted, numbers, stamps)
                wanted = []
        if wanted:
            yield _columns(wanted, numbers, stamps)


def _columns(rows: list[dict[str, Any]], numbers: Sequence[str], stamps: Sequence[str]) -> Chunk:
    read = {name: np.array([row.get(name, np.nan) for row in rows], float) for name in numbers}
    for name in stamps:
        values = [row.get(name, np.nan) for row in rows]
        read[name] = np.array(values, np.int64 if all(isinstance(v, int) for v in values) else float)
    return read


def _flatten(path: str, content: Any, row: dict[str, Any]) -> None:
    """Write the numbers of a message into a row, by their paths."""
    if isinstance(content, (bool, int, float, np.number)):
        row[path] = content.item() if isinstance(content, np.generic) else content
    elif isinstance(content, dict) or hasattr(content, "__dataclass_fields__"):
        fields = (
            content if isinstance(content, dict) else {n: getattr(content, n) for n in content.__dataclass_fields__}
        )
        for name, value in fields.items():
            if name != "__msgtype__":
                _flatten(f"{path}.{name}" if path else name, value, row)
    elif isinstance(content, (list, tuple, np.ndarray)) and len(content) <= LONGEST_ARRAY:
        for i, value in enumerate(content):
            _flatten(f"{path}[{i}]", value, row)


def message_tables(path: Path) -> dict[str, Table]:
    """Open a log of messages and return its tables."""
    suffix = path.suffix.lower()
    tables = _ulog(path) if suffix == ".ulg" else _mcap(path) if suffix == ".mcap" else _ros(path)
    tables = {name: table for name, table in tables.items() if table.columns}
    if not tables:
        raise InputError(f"{path}: there are no messages with numbers in it")
    return tables


def _ulog(path: Path) -> dict[str, Table]:
    try:
        from pyulog import ULog
    except ImportError:
        raise missing("pyulog") from None
    named = [(d.name if not d.multi_id else f"{d.name}_{d.multi_id}", d.data) for d in ULog(str(path)).data_list]
    numeric = lambda data: {n: np.asarray(a) for n, a in data.items() if np.asarray(a).dtype.kind in "iufb"}  # noqa: E731
    return {name: ArrayTable(numeric(data)) for name, data in named}


def _ros(path: Path) -> dict[str, Table]:
    """Open the folder of a ROS 2 bag."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise missing("rosbags") from None
    reader = AnyReader([path], default_typestore=get_typestore(Stores.LATEST))
    reader.open()

    def messages(connection: Any) -> Messages:
        def read() -> Iterator[tuple[int, Any]]:
            for found, time, raw in reader.messages([connection]):
                yield time, reader.deserialize(raw, found.msgtype)

        return read

    return {c.topic.strip("/"): MessageTable(messages(c)) for c in reader.connections}


def _mcap(path: Path) -> dict[str, Table]:
    try:
        from mcap.reader import make_reader
    except ImportError:
        raise missing("mcap") from None
    try:
        with path.open("rb") as file:
            summary = make_reader(file).get_summary()
    except Exception:  # whatever it is that an interrupted recording lacks
        summary = None
    channels, schemas = (summary.channels, summary.schemas) if summary is not None else _scanned(path)

    def messages(topic: str, decode: Callable[[bytes], Any]) -> Messages:
        def read() -> Iterator[tuple[int, Any]]:
            for message in _messages(path, topic, summary is None):
                try:
                    yield message.log_time, decode(message.data)
                except Exception:  # each encoding has its own kinds
                    yield message.log_time, None

        return read

    tables: dict[str, Table] = {}
    for channel in channels.values():
        decode = _decoder(channel.message_encoding, schemas.get(channel.schema_id))
        if decode is not None:
            tables[channel.topic.strip("/")] = MessageTable(messages(channel.topic, decode))
    if not tables and channels:
        kinds = sorted({c.message_encoding for c in channels.values()})
        raise InputError(f"{path}: messages are encoded as {', '.join(kinds)}; json and cdr (ros2msg) are read")
    return tables


def _messages(path: Path, topic: str | None, interrupted: bool) -> Iterator[Any]:
    """Return the messages of a topic; those of an interrupted recording in the order of the file, to where it ends."""
    from mcap.reader import NonSeekingReader, make_reader

    with path.open("rb") as file:
        if not interrupted:
            yield from (message for _, _, message in make_reader(file).iter_messages(topics=topic))
            return
        try:
            yield from (x[2] if topic else x for x in NonSeekingReader(file).iter_messages(topic, log_time_order=False))
        except Exception:  # the end, whatever the reader makes of it
            return


def _scanned(path: Path) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return channels and schemas of an interrupted recording."""
    channels, schemas = dict[int, Any](), dict[int, Any]()
    for schema, channel, _ in _messages(path, None, True):
        channels[channel.id] = channel
        schemas |= {} if schema is None else {schema.id: schema}
    return channels, schemas


def _decoder(encoding: str, schema: Any) -> Callable[[bytes], Any] | None:
    """Return the function that reads a message, None of an encoding that is not known."""
    if encoding == "json":
        return json.loads
    if encoding != "cdr" or schema is None or schema.encoding != "ros2msg":
        return None
    try:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError:
        raise missing("rosbags") from None
    store, text = get_typestore(Stores.EMPTY), schema.data.decode()
    types = get_types_from_msg(text.split("=" * 80)[0], schema.name)
    for part in text.split("=" * 80)[1:]:
        head, _, body = part.strip().partition("\n")
        types |= get_types_from_msg(body, _whole(head.removeprefix("MSG:").strip()))
    store.register(types)
    return lambda data: store.deserialize_cdr(data, _whole(schema.name))


def _whole(name: str) -> str:
    """Return the name of a type with /msg/ in it."""
    return name if "/msg/" in name else name.replace("/", "/msg/", 1)
