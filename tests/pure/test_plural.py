"""A count is said with its noun as it is spoken, in reports and reasons too."""

import pytest
from jobdeck_backend.plural import plural


@pytest.mark.parametrize(
    ("count", "word", "said"),
    [
        (0, "job", "0 jobs"),
        (1, "job", "1 job"),
        (2, "job", "2 jobs"),
        (1, "reply", "1 reply"),
        (2, "reply", "2 replies"),
        (2, "day", "2 days"),
        (12_345, "word", "12,345 words"),
    ],
)
def test_a_count_is_said_with_its_noun(count: int, word: str, said: str) -> None:
    assert plural(count, word) == said
