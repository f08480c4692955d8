"""How far a reader of the feed has come, as the text that it may come again with."""

from typing import NamedTuple, Self


class FeedCursor(NamedTuple):
    """A place in the log over all jobs, and the mark of the history which that log is of."""

    place: str
    mark: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take any text apart; whether there is such a place, the database knows."""
        place, _, mark = text.partition("@")
        return cls(place, mark)

    def __str__(self) -> str:
        """As ``parse`` reads it."""
        return f"{self.place}@{self.mark}"
