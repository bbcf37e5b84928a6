"""Flight software of one's own for the mission detumble, over the frames of docs/flight_code.md: B-dot in 40 lines.

gnc run detumble --flight-code "pipe:python docs/examples/own_software.py" --set run.duration_s=3600
"""

import struct
import sys
import zlib

HEAD = struct.Struct("<4sIIIqII")  # magic, kind, sequence, trial, tick, arrived, bytes
ABOUT, BEGIN, STEP = 1, 2, 3
MAGNETOMETER, GAIN = 2, 2e4  # bit of `arrived`; dipole over rate of the field [A m^2 / (T/s)]
before, answers = {}, {}  # by trial: last field with its tick; last answer


def step(trial, tick, arrived, inputs):
    """Return the command: torques of four wheels, dipole of three torquers."""
    field = inputs[:3]
    last, when = before.get(trial, (field, tick - 1))
    if arrived & MAGNETOMETER:
        before[trial] = field, tick
    seconds = 0.5 * (tick - when)  # detumble has ticks of half a second
    dipole = [-GAIN * (b - a) / seconds if seconds > 0 else 0.0 for a, b in zip(last, field, strict=True)]
    return [0.0] * 4 + [max(-1.0, min(1.0, m)) for m in dipole]


def main(stream=sys.stdin.buffer, out=sys.stdout.buffer):
    """Answer until nobody asks any more."""
    while len(head := stream.read(HEAD.size)) == HEAD.size:
        magic, kind, sequence, trial, tick, arrived, size = HEAD.unpack(head)
        payload, (check,) = stream.read(size), struct.unpack("<I", stream.read(4))
        if magic != b"GNC1" or zlib.crc32(head + payload) != check:
            continue  # it will be asked again
        if answers.get(trial, (None,))[0] != sequence:  # what is asked twice is done once
            body = bytes(160) if kind == ABOUT else b""  # sizes and an empty hash: not exported by gnc
            if kind == STEP:
                body = struct.pack("<7d", *step(trial, tick, arrived, struct.unpack(f"<{size // 8}d", payload)))
            frame = HEAD.pack(b"GNC1", kind, sequence, trial, tick, 0, len(body)) + body
            answers[trial] = sequence, frame + struct.pack("<I", zlib.crc32(frame))
        out.write(answers[trial][1])
        out.flush()


if __name__ == "__main__":
    main()
