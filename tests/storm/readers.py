"""Stream readers that lose their connection again and again, and must end with the whole log."""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx
from event_frames import Frame, frames_of

from tests.running_backend import JOBS

RETRY_S = 0.1
RESET = struct.pack("ii", 1, 0)


class Reader(threading.Thread):
    """Follows one job from its first event, on whichever backend ``url`` names, until it is told the end."""

    def __init__(self, job_id: str, url: Callable[[], str], stop: threading.Event) -> None:
        super().__init__(name=f"reader of {job_id}", daemon=True)
        self.job_id = job_id
        self.frames: list[Frame] = []
        self.connections = 0
        self.ended = False
        self._url = url
        self._stop_all = stop
        self._socket: socket.socket | None = None

    def run(self) -> None:
        """Connect, read, and connect again from the last id seen."""
        while not self.ended and not self._stop_all.is_set():
            # The servers are killed and stopped, and some answers are cut in the middle: all of it is weather.
            with suppress(httpx.HTTPError, OSError, AssertionError, ValueError):
                self._follow()
            self._stop_all.wait(RETRY_S)

    def reset(self) -> None:
        """Drop the connection as a vanished client does: RST, not FIN."""
        connection = self._socket
        if connection is not None:
            with suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                connection.shutdown(socket.SHUT_RD)

    def _follow(self) -> None:
        last = {"Last-Event-ID": str(self.frames[-1].id)} if self.frames else {}
        with httpx.Client(timeout=httpx.Timeout(5, read=20)) as client:
            self.connections += 1
            address = f"{self._url()}{JOBS}/job/{self.job_id}/stream"
            with client.stream("GET", address, headers=last) as response:
                response.raise_for_status()
                network: Any = response.extensions["network_stream"]
                self._socket = network.get_extra_info("socket")
                for frame in frames_of(response):
                    if frame.id is not None:
                        self.frames.append(frame)
                    self.ended = self.ended or _is_end(frame)


def _is_end(frame: Frame) -> bool:
    return frame.event == "job.status" and frame.data["status"] in {"success", "failure", "interrupted"}
