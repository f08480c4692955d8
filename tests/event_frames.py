"""Event streams as they were sent, frame by frame."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True)
class Frame:
    """One frame of an event stream as it was sent; ``id`` is None where the frame has none of its own, and
    a number for a job's event.

    ``data`` of ``events``, which has one event on each line, is a list.
    """

    id: int | str | None
    event: str
    data: Any

    @classmethod
    def parse(cls, lines: list[str]) -> "Frame":
        fields = dict(line.split(": ", 1) for line in lines)
        assert set(fields) <= {"id", "event", "data"}, lines
        told = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
        data = told if fields["event"] == "events" else told[0]
        assert fields["event"] == "events" or len(told) == 1, lines
        given = fields.get("id")
        return cls(int(given) if given is not None and given.isdigit() else given, fields["event"], data)


def frames_of(response: httpx.Response) -> Iterator[Frame]:
    """The frames of an open stream; comments are left out."""
    lines: list[str] = []
    for line in response.iter_lines():
        if line and not line.startswith(":"):
            lines.append(line)
        elif lines and not line:
            yield Frame.parse(lines)
            lines = []
    assert not lines, f"the stream was cut inside a frame: {lines}"
