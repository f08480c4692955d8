"""The line from the fork server and its children to the backend: one JSON object each."""

import json
import os
from typing import Any

DESCRIPTOR = 100
"""Away from standard output, where any workflow or library may print."""


def open_line() -> None:
    """Make what is standard output the line, and let standard output go where errors go."""
    os.dup2(1, DESCRIPTOR, inheritable=False)
    os.dup2(2, 1)


def tell(**message: Any) -> None:
    """One line to the backend; whole, since it is shorter than a pipe's atomic write."""
    os.write(DESCRIPTOR, json.dumps(message).encode() + b"\n")
