"""Which ids a caller may choose for a job: what a path can carry and a person can tell apart."""

import re
import unicodedata

LENGTH_MAX = 256
MARKS_MAX = 4
"""Combining marks on one character; more of them draw over their neighbours."""

# Printable by their category, and yet nothing is drawn: two ids must not look the same for them.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def check_id(text: str) -> str:
    """``text``, fit to be the id of a job. Raises ``ValueError`` with a sentence for the caller."""
    if not 0 < len(text) <= LENGTH_MAX:
        raise ValueError(f"must have 1 to {LENGTH_MAX} characters")
    if text in {".", ".."}:
        raise ValueError("must not be a dot or two: paths lose them")
    if "/" in text:
        raise ValueError("must not contain a slash")
    if not text.isprintable() or _UNSEEN.search(text):
        raise ValueError("must not contain control characters or invisible ones")
    if _marks_in_a_row(text) > MARKS_MAX:
        raise ValueError(f"must not have more than {MARKS_MAX} combining marks in a row")
    return text


def _marks_in_a_row(text: str) -> int:
    longest = run = 0
    if not text.isascii():
        for character in text:
            run = run + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
            longest = max(longest, run)
    return longest
