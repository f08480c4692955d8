"""The filter language as its terms, before anybody asks what they match.

    state:failed queue:research agent:deep* left<60s try>1 worker:w3 age>10m !demo "free text"

Terms are joined by AND, a comma inside a value is OR, ``!`` negates. Values take ``*`` and ``?`` and ignore case;
durations have a unit (``500ms 60s 10m 2h 1d``) or are seconds. The deck reads the same language.
"""

import re
from typing import NamedTuple

from jobdeck_backend.errors import InvalidInput
from jobdeck_backend.jobs.states import FINISHED, State

TERMS_MAX = 50

_TERM = re.compile(r'(!?)(?:([A-Za-z_]+)(<=|>=|[:=<>]))?(?:"([^"]*)"?|(\S*))\s*')
_DURATION = re.compile(r"(-?\d+(?:\.\d+)?)(ms|s|m|h|d)?")
_UNIT_SECONDS = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}

STATE_WORDS: dict[str, frozenset[str]] = {
    **{state: frozenset({state}) for state in State},
    # A cancel that waits for its worker is found under both names, and so is a late heartbeat.
    "cancelled": frozenset({"cancelled", "cancelling"}),
    "running": frozenset({"running", "ghost"}),
    "cancelling": frozenset({"cancelling"}),
    "ghost": frozenset({"ghost"}),
    "done": frozenset({State.SUCCEEDED}),
    "finished": frozenset(FINISHED),
    "unfinished": frozenset({*State, "cancelling", "ghost"}) - FINISHED,
}
GHOST_S = 20.0
"""A running job whose heartbeat is older is shown, and found, as a ghost."""
WORDS = frozenset({"state", "status", "queue", "agent", "owner", "worker", "stage", "id", "thread"})
BY_PREFIX = frozenset({"worker", "id", "thread"})
"""Fields whose beginning is enough."""
NUMBERS = frozenset({"left", "slack", "age", "try", "priority", "epoch"})
FIELDS = tuple(sorted(WORDS | NUMBERS))


class Term(NamedTuple):
    """One term. Without a ``name`` it is free text; ``value`` is in lower case."""

    negated: bool
    name: str
    operator: str
    value: str

    @property
    def choices(self) -> list[str]:
        """The values of which one is enough."""
        return self.value.split(",")

    @property
    def numbers(self) -> list[float]:
        """The same for a field of numbers, in seconds where they are times. Raises ``InvalidInput``."""
        choices = self.choices if self.operator in (":", "=") else [self.value]
        return [_seconds(self.name, choice) for choice in choices]


def parse(text: str) -> list[Term]:
    """The terms of a filter.

    Raises ``InvalidInput`` naming the fields there are, or the value that cannot be used.
    """
    terms = []
    for match in _TERM.finditer(text.strip()):
        negated, name, operator, quoted, bare = match.groups()
        term = Term(
            bool(negated), (name or "").lower(), operator or "", (bare if quoted is None else quoted).lower()
        )
        if term.name or term.value:
            _check(term)
            terms.append(term)
        elif term.negated and quoted is None:
            raise InvalidInput("filter: ! stands right before what it negates, as in !state:failed")
    if len(terms) > TERMS_MAX:
        raise InvalidInput(f"a filter has at most {TERMS_MAX} terms")
    return terms


def is_pattern(word: str) -> bool:
    """Whether a word stands for more than itself."""
    return "*" in word or "?" in word


def _check(term: Term) -> None:
    name, operator, value = term.name, term.operator, term.value
    if not name:
        return
    if name not in WORDS | NUMBERS:
        raise InvalidInput(
            f"filter: there is no field {name}; the fields are: {', '.join(FIELDS)}", fields=list(FIELDS)
        )
    if not value:
        raise InvalidInput(f"filter: {name}{operator} needs a value")
    if name in NUMBERS:
        _ = term.numbers
    elif operator not in (":", "="):
        raise InvalidInput(f"filter: {name} is a word, write {name}:{value}")
    elif name == "state":
        for word in term.choices:
            if not is_pattern(word) and word not in STATE_WORDS:
                raise InvalidInput(f"filter: state is never {word}; known: {', '.join(STATE_WORDS)}")


def _seconds(name: str, value: str) -> float:
    match = _DURATION.fullmatch(value)
    if match is None:
        raise InvalidInput(f"filter: {value} is no number for {name}, write such as {name}>10 or {name}<60s")
    return float(match[1]) * _UNIT_SECONDS[match[2]]
