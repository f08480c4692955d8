"""Numbers, times and states as the few cells a terminal has for them.

Every glyph here is one cell wide in Rich, in tmux and in CJK locales; a word always stands beside it.
"""

import unicodedata
from datetime import UTC, datetime
from functools import lru_cache

from .sanitise import CUT

NONE = "—"
SPOKEN_ID_CELLS = 24

GLYPHS = {
    "backlog": "☐",
    "waiting": "⋯",
    "queued": "◷",
    "assigned": "⇡",
    "running": "▸",
    "held": "⏸",
    "succeeded": "✔",
    "failed": "✖",
    "cancelled": "⊘",
    "expired": "∅",
    "cancelling": "⊘",
    "ghost": "?",
}
WORDS = {
    "backlog": "BACKLOG",
    "waiting": "WAITING",
    "queued": "QUEUED",
    "assigned": "ASSIGNED",
    "running": "RUNNING",
    "held": "HELD",
    "succeeded": "DONE",
    "failed": "FAILED",
    "cancelled": "CANCELLED",
    "expired": "EXPIRED",
    "cancelling": "CANCELLING",
    "ghost": "GHOST",
}
MEANINGS = {
    "backlog": "admitted, not yet handed to Dask",
    "waiting": "in Dask, or held back by the jobs it comes after: its inputs are not ready",
    "queued": "ready, held by the Dask scheduler because the workers' slots are taken",
    "assigned": "Dask says processing, the worker has not yet written its start",
    "running": "the worker wrote its start and owns the job",
    "held": "unfinished, not executing, needs a person",
    "succeeded": "succeeded: finished; its result was read back before this was written",
    "failed": "finished with an error",
    "cancelled": "ended by a person; the worker acknowledged, or none had started it",
    "expired": "its deadline passed, in the queue or while running",
    "cancelling": "cancel requested, the worker has not acknowledged yet: its slot is still taken",
    "ghost": "running by the records, but its worker's heartbeat is late",
}


def state_glyph(state: str) -> str:
    """Give the one-cell sign of a state; ``?`` for one this deck does not know."""
    return GLYPHS.get(state, "?")


def state_word(state: str) -> str:
    """Give the word of a state, at most ten letters."""
    return WORDS.get(state, state.upper()[:10])


def state_label(state: str) -> str:
    """Give glyph and word, at most 12 cells."""
    return f"{state_glyph(state)} {state_word(state)}"


def time_left(seconds: float | None) -> str:
    """Write time to a deadline: ``-02:31`` is left, ``+00:12`` is over, ``—`` is none; seven cells at most.

    The sign carries the meaning without colour, as a launch clock does.
    """
    if seconds is None:
        return NONE
    sign = "-" if seconds > 0 else "+"
    return sign + _clock(abs(seconds))


def signed(seconds: float) -> str:
    """Write a reserve of time: ``+01:10`` to spare, ``-00:20`` short."""
    return ("+" if seconds >= 0 else "-") + _clock(abs(seconds))


def _clock(seconds: float) -> str:
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60:02d}:{whole % 60:02d}"
    if whole < 100 * 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return (
        f"{whole // 86_400}d{whole % 86_400 // 3600:02d}h" if whole < 100 * 86_400 else f"{whole // 86_400}d"
    )


def elapsed(seconds: float | None) -> str:
    """Write how long something took or has run: ``04:12``, ``3h12m``."""
    return NONE if seconds is None else _clock(max(seconds, 0.0))


def age(seconds: float | None) -> str:
    """Write an age in one unit: ``0.4s``, ``41s``, ``7m``, ``3h``, ``2d``."""
    if seconds is None:
        return NONE
    seconds = max(seconds, 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    if seconds < 99.5:
        return f"{seconds:.0f}s"
    for unit, name in ((60, "m"), (3600, "h")):
        if seconds < 99.5 * unit:
            return f"{seconds / unit:.0f}{name}"
    return f"{seconds / 86_400:.0f}d"


def duration(seconds: float | None) -> str:
    """Write a measured duration: ``812ms``, ``2.14s``, ``3m20s``."""
    if seconds is None:
        return NONE
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 59.995:
        return f"{seconds:.2f}s"
    return f"{int(seconds) // 60}m{int(seconds) % 60:02d}s" if seconds < 3600 else _clock(seconds)


def clock(at: float | None) -> str:
    """Write a moment (Unix seconds) as its UTC time of day, ``12:04:31``."""
    return NONE if at is None else _moment(at, "%H:%M:%S")


def instant(at: float | None) -> str:
    """Write a moment (Unix seconds) as date and time, ``2026-11-29 12:04:31Z``."""
    return NONE if at is None else _moment(at, "%Y-%m-%d %H:%M:%SZ")


def _moment(at: float, pattern: str) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime(pattern)
    except (ValueError, OverflowError, OSError):
        return NONE


def size(count: float | None) -> str:
    """Write bytes in at most five cells: ``812B``, ``5.1M``, ``8.0G``."""
    if count is None:
        return NONE
    amount = float(count)
    for unit in ("B", "K", "M", "G"):
        if amount < 999.5:
            return f"{amount:.0f}{unit}" if unit == "B" or amount >= 99.5 else f"{amount:.1f}{unit}"
        amount /= 1024
    return f"{amount:.1f}T"


def number(count: int) -> str:
    """Write a count in at most five cells: ``412``, ``12.3k``, ``1.2M``."""
    if count < 10_000:
        return str(count)
    return (
        f"{count / 1000:.1f}k"
        if count < 99_950
        else (f"{count / 1000:.0f}k" if count < 999_500 else f"{count / 1_000_000:.1f}M")
    )


def plural(count: int, word: str) -> str:
    """Write ``1 job``, ``2 jobs``, ``2 replies``."""
    if count == 1:
        return f"1 {word}"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{count} {word[:-1]}ies"
    return f"{count} {word}s"


def cells(text: str) -> int:
    """Count the terminal cells that sanitised ``text`` takes."""
    return len(text) if text.isascii() else sum(map(_cell, text))


@lru_cache(maxsize=4096)
def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Give ``text`` in exactly ``width`` cells: padded, or cut with ``⋯`` as its last sign."""
    if width <= 0:
        return ""
    taken = cells(text)
    if taken > width:
        text, taken = _clip(text, width)
    padding = " " * (width - taken)
    return padding + text if right else text + padding


def padded(text: str, width: int) -> str:
    """Give ``text`` in at least ``width`` cells, never cut: the next command may have to be told it."""
    return text + " " * max(width - cells(text), 0)


def _clip(text: str, width: int) -> tuple[str, int]:
    if text.isascii():
        return text[: width - 1] + CUT, width
    kept, taken = 0, 0
    for character in text:
        wide = _cell(character)
        if taken + wide > width - 1:
            break
        kept, taken = kept + 1, taken + wide
    return text[:kept] + CUT, taken + 1


def bar(share: float, width: int) -> str:
    """Draw a share between 0 and 1 as ``width`` cells, full to the left."""
    full = round(min(max(share, 0.0), 1.0) * width)
    return "█" * full + "░" * (width - full)


def short_id(job_id: str, width: int) -> str:
    """Give an id in at most ``width`` cells, without its middle where it is longer.

    Ids that callers give often differ only at their end; of a random UUID any part tells it from others.
    """
    if len(job_id) <= width or _is_random(job_id):
        return job_id[:width]
    tail = max((width - 1) // 3, 1)
    return f"{job_id[: width - 1 - tail]}{CUT}{job_id[-tail:]}"


def short_worker(name: str, width: int) -> str:
    """Give a worker's name in at most ``width`` cells: its end, where it is longer, which tells it from others.

    Dask calls a worker by its address where nobody named it: then the scheme is left out.
    """
    shown = name.partition("://")[2] or name
    if cells(shown) <= width:
        return shown
    return CUT + shown[1 - width :] if shown.isascii() else fit(shown, width)


def id_words(job_id: str) -> str:
    """Give an id as a sentence says it: whole as far as it can be, the first part of a random UUID."""
    return job_id[:8] if _is_random(job_id) else short_id(job_id, SPOKEN_ID_CELLS)


def _is_random(job_id: str) -> bool:
    """Whether it is a random UUID (version 4): those of other versions may begin with the time of day."""
    return len(job_id) == 36 and job_id[14] == "4" and all(job_id[at] == "-" for at in (8, 13, 18, 23))
