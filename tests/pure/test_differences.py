"""Where Dask's picture and the records differ."""

from hypothesis import given
from hypothesis import strategies as st
from jobdeck_backend.jobs.differences import Books, Kind, carry_on, compare

IDS = st.sets(st.sampled_from("abcdef"))


def test_each_kind_of_difference_is_told() -> None:
    books = Books(delivered="ab", executing="cd", dask="bde", dask_known="bde")
    assert compare(books) == {
        (Kind.DELIVERED_UNKNOWN, "a"),
        (Kind.RUNNING_UNKNOWN, "c"),
        (Kind.UNKNOWN_TO_RECORDS, "e"),
    }


def test_a_key_with_nothing_left_to_do_is_no_difference() -> None:
    assert compare(Books(delivered=(), executing=(), dask=(), dask_known="a")) == set()


@given(IDS, IDS)
def test_books_that_say_the_same_agree(delivered: set[str], executing: set[str]) -> None:
    both = delivered | executing
    assert compare(Books(delivered, executing, both, both)) == set()


def test_a_difference_lasts_from_when_it_was_first_seen_until_it_was_not_seen_once() -> None:
    pair = {(Kind.RUNNING_UNKNOWN, "a")}
    first = carry_on([], pair, 100.0)
    second = carry_on(first, pair, 103.0)
    assert [one.since for one in second] == [100.0]
    gone = carry_on(second, set(), 104.0)
    assert [one.since for one in carry_on(gone, pair, 105.0)] == [105.0]
