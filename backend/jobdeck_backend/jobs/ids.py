"""A job's id: a new one, and which ones a caller may choose: what a path can carry and a person can tell apart."""

import hashlib
import re
import secrets
import unicodedata
from urllib.parse import quote
from uuid import UUID

CLOCK_BITS = 12
TICKS_PER_S = 64
LENGTH_MAX = 256
MARKS_MAX = 4
"""Combining marks on one character; more of them draw over their neighbours."""

LEGIBLE_CHARS = 40
DIGEST_CHARS = 32

_OWN_NAME = re.compile("[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_NOT_IN_A_NAME = re.compile("[^A-Za-z0-9_]")
# Printable by their category, and yet nothing is drawn: two ids must not look the same for them.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def new_id(at: float) -> str:
    """A UUID of version 4 for a job accepted at ``at`` (Unix seconds).

    Its first three digits turn with the clock, once in 64 seconds; the others are random. So jobs of one moment
    are neighbours in every index, and a commit writes few pages for many of them, where random ids would each be
    on a page of their own, in eight indices. Over a minute the first digits are as evenly spread as random ones.
    """
    ticks = int(at * TICKS_PER_S) % (1 << CLOCK_BITS)
    random_bits = 128 - CLOCK_BITS
    return str(UUID(int=ticks << random_bits | secrets.randbits(random_bits), version=4))


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


def job_path(job_id: str) -> str:
    """Where the jobs API has the job, fit for a request whatever the id."""
    return f"/v1/jobs/async/job/{quote(job_id, safe='')}"


def file_name(job_id: str) -> str:
    """A name for a job's own file or directory: short, plain ASCII, and no other job's.

    Most ids are their own. Of another one its beginning is legible, and a digest tells it apart; the dot between
    is in no id that is its own name.
    """
    if _OWN_NAME.fullmatch(job_id):
        return job_id
    legible = _NOT_IN_A_NAME.sub("_", job_id[:LEGIBLE_CHARS])
    digest = hashlib.sha256(job_id.encode()).hexdigest()[:DIGEST_CHARS]
    return f"{legible}.{digest}"


def _marks_in_a_row(text: str) -> int:
    longest = run = 0
    if not text.isascii():
        for character in text:
            run = run + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
            longest = max(longest, run)
    return longest
