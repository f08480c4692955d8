"""The filter language, one for jobs and for events.

    state:failed queue:research agent:deep* left<60s try>1 worker:w3 age>10m !demo "free text"

Terms are joined by AND; a comma inside a value is OR (``state:failed,expired``); ``!`` negates a term. Values
take ``*`` and ``?`` and ignore case. Durations have a unit (``500ms 60s 10m 2h 1d``) or are seconds. A bare
word is looked for in everything the row says.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")

_TERM = re.compile(r'(!?)(?:([A-Za-z_]+)(<=|>=|[:=<>]))?(?:"([^"]*)"?|(\S*))\s*')
_DURATION = re.compile(r"(-?\d+(?:\.\d+)?)(ms|s|m|h|d)?", re.IGNORECASE)
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "": 1.0}
TERMS_MAX = 50
COMPLETED_OF_MAX = 20_000
"""Items looked through for the words they have."""
COMPLETIONS_MAX = 50


class FilterError(ValueError):
    """The filter cannot be understood; the message says what can."""


class Words(NamedTuple, Generic[Item]):
    """A field of words: what an item says, words that stand for others, and whether a beginning is enough."""

    read: Callable[[Item, float], str | None]
    aliases: Mapping[str, tuple[str, ...]] | None = None
    prefix: bool = False


class Number(NamedTuple, Generic[Item]):
    """A field of numbers or seconds; an item without one matches no comparison."""

    read: Callable[[Item, float], float | None]


Predicate = Callable[[Item, float], bool]
Field = Words[Item] | Number[Item]


class Language(NamedTuple, Generic[Item]):
    """The fields of one kind of item, and its whole text for free words (lower case)."""

    fields: Mapping[str, Field[Item]]
    text: Callable[[Item], str]

    def compile(self, source: str) -> Predicate[Item]:
        """Turn a filter into a predicate over (item, now); an empty one lets everything pass.

        Raises:
            FilterError: an unknown field (naming the known ones), or a value its field cannot have.
        """
        terms = [self._term(*parts) for parts in _split(source)]
        if not terms:
            return _everything
        return terms[0] if len(terms) == 1 else _all(tuple(terms))

    def _term(self, negated: bool, name: str, operator: str, value: str) -> Predicate[Item]:  # noqa: FBT001
        term = self._field(name, operator, value) if name else self._free(value)
        return _not(term) if negated else term

    def _free(self, value: str) -> Predicate[Item]:
        wanted, text = value.lower(), self.text
        return lambda item, _now: wanted in text(item)

    def _field(self, name: str, operator: str, value: str) -> Predicate[Item]:
        field = self.fields.get(name.lower())
        if field is None:
            raise FilterError(f"There is no field {name}. Fields: {', '.join(sorted(self.fields))}.")
        if not value:
            raise FilterError(f"{name}{operator} needs a value.")
        if isinstance(field, Number):
            return _compare(field.read, operator, name, value)
        if operator not in (":", "="):
            raise FilterError(f"{name} is a word: write {name}:{value}.")
        return _words(field, name, value)

    def complete(self, source: str, items: Iterable[Item] = ()) -> list[str]:
        """Give what the last word of ``source`` could be completed to: fields, or a field's words.

        Those are the ones it can have, else the ones that ``items`` have.
        """
        last = source.rsplit(" ", 1)[-1].lstrip("!")
        name, colon, value = last.partition(":")
        if not colon:
            names = (key + (":" if isinstance(field, Words) else "<") for key, field in self.fields.items())
            return sorted(candidate for candidate in names if candidate.startswith(last.lower()))
        field = self.fields.get(name.lower())
        if not isinstance(field, Words):
            return []
        start = value.rsplit(",", 1)[-1].lower()
        if field.aliases:
            return sorted(word for word in field.aliases if word.startswith(start))
        seen = {(field.read(item, 0.0) or "").lower() for item in islice(items, COMPLETED_OF_MAX)}
        # A word with a space would have to stand in quotes.
        fitting = sorted(word for word in seen if word and word.startswith(start) and " " not in word)
        return fitting[:COMPLETIONS_MAX]


def _split(source: str) -> list[tuple[bool, str, str, str]]:
    terms: list[tuple[bool, str, str, str]] = []
    source = source.strip()
    at = 0
    while at < len(source):
        match = _TERM.match(source, at)
        if match is None or match.end() == at:
            raise FilterError("This cannot be read as a filter.")
        negated, name, operator, quoted, bare = match.groups()
        value = quoted if quoted is not None else bare
        if name or value:
            terms.append((bool(negated), name or "", operator or "", value))
        elif negated and quoted is None:
            raise FilterError("! stands right before what it negates, as in !state:failed.")
        at = match.end()
    if len(terms) > TERMS_MAX:
        raise FilterError(f"A filter has at most {TERMS_MAX} terms.")
    return terms


def _everything(_item: object, _now: float) -> bool:
    return True


def _not(term: Predicate[Item]) -> Predicate[Item]:
    return lambda item, now: not term(item, now)


def _all(terms: tuple[Predicate[Item], ...]) -> Predicate[Item]:
    def matches(item: Item, now: float) -> bool:
        for term in terms:  # noqa: SIM110 - a generator here would double the time over 100,000 rows
            if not term(item, now):
                return False
        return True

    return matches


def _words(field: Words[Item], name: str, value: str) -> Predicate[Item]:
    aliases = field.aliases or {}
    exact: set[str] = set()
    patterns: list[str] = []
    for word in value.lower().split(","):
        if "*" in word or "?" in word:
            patterns.append(translate(word))
        elif field.prefix:
            patterns.append(translate(word + "*"))
        elif aliases and word not in aliases:
            raise FilterError(f"{name} is never {word}. Known: {', '.join(aliases)}.")
        else:
            exact.update(aliases.get(word, (word,)))
    read = field.read
    if not patterns:
        return lambda item, now: (read(item, now) or "").lower() in exact
    any_of = re.compile("|".join(patterns)).match

    def matches(item: Item, now: float) -> bool:
        text = (read(item, now) or "").lower()
        return text in exact or any_of(text) is not None

    return matches


def _compare(
    read: Callable[[Item, float], float | None], operator: str, name: str, value: str
) -> Predicate[Item]:
    if operator in (":", "="):
        wanted = frozenset(_seconds(name, part) for part in value.split(","))
        return lambda item, now: read(item, now) in wanted
    bound = _seconds(name, value)

    def matches(item: Item, now: float) -> bool:
        number = read(item, now)
        if number is None:
            return False
        if operator == "<":
            return number < bound
        if operator == ">":
            return number > bound
        return number <= bound if operator == "<=" else number >= bound

    return matches


def _seconds(name: str, value: str) -> float:
    match = _DURATION.fullmatch(value)
    if match is None:
        raise FilterError(f"{value} is no number for {name}: write for example {name}>10 or {name}<60s.")
    return float(match[1]) * _UNIT_SECONDS[(match[2] or "").lower()]
