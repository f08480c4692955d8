"""Copying where a deck is used: over SSH, in tmux, on terminals that may not listen.

OSC 52 asks the terminal to take a text, and no terminal answers. So every copy is also kept in a file, and what
is said is what is known: tmux answers, a terminal does not, some are known to drop it.
"""

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

OSC_BYTES_MAX = 74_000
"""What the smallest of the common terminals takes: 100,000 characters of base64 with a margin."""
TMUX_SECONDS = 1.0
FILE_NAME = "copied.txt"


class Copied(NamedTuple):
    """What became of a copy: where it certainly is, and whether it can be pasted as it is."""

    words: str
    arrived: bool


def copy(
    text: str, directory: Path | None, send: Callable[[str], None], environment: Mapping[str, str]
) -> Copied:
    """Copy a text: by tmux where the deck runs in it, else by ``send`` (OSC 52); always to a file, too."""
    kept = _keep(text, directory)
    if len(text.encode()) > OSC_BYTES_MAX:
        return Copied(f"too long for a terminal's clipboard; {kept}", arrived=False)
    if environment.get("TMUX") and _by_tmux(text, environment):
        return Copied(f"copied to tmux (prefix ] pastes), offered to its terminal; {kept}", arrived=True)
    if reason := _deaf(environment):
        return Copied(f"{reason} takes no copies; {kept}", arrived=False)
    send(text)
    return Copied(f"sent to the terminal's clipboard; {kept}", arrived=True)


def _keep(text: str, directory: Path | None) -> str:
    if directory is None:
        return "no file is kept"
    from jobdeck_tui.client.saving import Saving

    path = directory / FILE_NAME
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with Saving(path, over=True) as saving:
            saving.write(text.encode())
            saving.keep()
    except OSError as error:
        return f"it could not be kept in {path} ({error.strerror})"
    return f"also in {path}"


def _by_tmux(text: str, environment: Mapping[str, str]) -> bool:
    """Whether tmux took it. Its default setting drops OSC 52 of programs, and passes on what it is given so."""
    tmux = shutil.which("tmux", path=environment.get("PATH"))
    if tmux is None:
        return False
    try:
        done = subprocess.run(
            [tmux, "load-buffer", "-w", "-"],
            input=text.encode(),
            env=dict(environment),
            timeout=TMUX_SECONDS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _deaf(environment: Mapping[str, str]) -> str:
    """The terminal's name where it is known to drop OSC 52; empty where it may listen."""
    if environment.get("TERM_PROGRAM") == "Apple_Terminal":
        return "Apple's Terminal"
    if environment.get("TERM", "") in ("linux", "vt100", "vt220"):
        return f"a {environment['TERM']} console"
    return "GNU screen" if environment.get("STY") else ""
