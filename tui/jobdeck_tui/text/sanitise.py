"""The one place where untrusted text is made safe to show.

Job output, errors, names and notes are written by models, documents and other people's programs. A terminal
obeys escape sequences wherever they come from, and draws bidirectional overrides and invisible characters as
their author wished, so every string from outside passes through ``one_line`` or ``block`` once, when it is
decoded. Nothing here knows about markup: whoever draws passes text as text.

Time is linear in the length that is kept; the cut comes first so that a huge string costs no more than its
bound.
"""

import re
import unicodedata

LINE_LIMIT = 2_000
BLOCK_LIMIT = 200_000
MARKS_MAX = 4
"""Combining marks kept on one base character; more of them would draw over the neighbouring rows."""

CUT = "⋯"
REPLACEMENT = "\ufffd"

# Bodies of control strings stop at any control that could open another one: that keeps the search linear and
# a string without an end from swallowing the text after it.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*+[0-~]"  # two-byte and charset escapes
)
_NEWLINE = re.compile(r"\r\n|[\n\x85\u2028\u2029]")

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
# Invisible: zero width, fillers, variation selectors, annotations, tags.
_INVISIBLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200D),
    (0x2060, 0x2065),
    (0x206A, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)


_INVISIBLE_RANGES = "".join(f"{chr(first)}-{chr(last)}" for first, last in _INVISIBLE)
_UNSEEN = re.compile(f"[{_INVISIBLE_RANGES}]")


def _table() -> dict[int, str]:
    table: dict[int, str] = {}
    table.update({code: chr(0x2400 + code) for code in range(0x20)})
    table[0x7F] = "\u2421"
    table.update(dict.fromkeys(range(0x80, 0xA0), REPLACEMENT))
    table.update(dict.fromkeys(_BIDI, REPLACEMENT))
    table[0x09] = " "
    return table


_LINE_TABLE = _table()
_BLOCK_TABLE = {**_LINE_TABLE, 0x09: "    "}
del _BLOCK_TABLE[0x0A]
_SURROGATE = re.compile("[\ud800-\udfff]")

_UNSAFE_RANGES = (
    "\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    + "".join(chr(code) for code in _BIDI)
    + _INVISIBLE_RANGES
)
_UNSAFE = re.compile(f"[{_UNSAFE_RANGES}]")
_UNSAFE_OR_NEWLINE = re.compile(f"[\n{_UNSAFE_RANGES}]")


def one_line(text: str, limit: int = LINE_LIMIT) -> str:
    """Give ``text`` as one safe line of at most ``limit`` characters; line breaks become ``␤``."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    return _cut(_clean(text[: limit + 1], "␤", _LINE_TABLE), len(text) > limit, limit)


def block(text: str, limit: int = BLOCK_LIMIT) -> str:
    """Give ``text`` as safe lines, together at most ``limit`` characters, separated by newlines."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    return _cut(_clean(text[: limit + 1], "\n", _BLOCK_TABLE), len(text) > limit, limit)


def is_safe(text: str, *, lines: bool = False) -> bool:
    """Whether nothing in ``text`` could act on a terminal; ``lines`` allows newlines."""
    if text.isascii() and text.isprintable():
        return True
    return (_UNSAFE if lines else _UNSAFE_OR_NEWLINE).search(text) is None


def _clean(text: str, newline: str, table: dict[int, str]) -> str:
    text = _ESCAPE.sub("", text)
    text = _NEWLINE.sub(newline, text)
    text = _SURROGATE.sub(REPLACEMENT, text).translate(table)
    return text if text.isascii() else _thin_marks(_UNSEEN.sub("", text))


def _cut(text: str, was_longer: bool, limit: int) -> str:  # noqa: FBT001
    if not was_longer and len(text) <= limit:
        return text
    return text[: limit - 1] + CUT if limit > 0 else ""


def _thin_marks(text: str) -> str:
    """Keep at most ``MARKS_MAX`` combining marks in a row."""
    if max(text, default="") < "\u0300":
        return text
    kept: list[str] = []
    run = 0
    for character in text:
        run = run + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if run <= MARKS_MAX:
            kept.append(character)
    return "".join(kept)
