"""What numbers, times and states look like in the few cells there are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_tui.client.models import STATES
from jobdeck_tui.text import format as fmt
from jobdeck_tui.text.format import cells, fit, id_words, short_id


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (151, "-02:31"),
        (-12, "+00:12"),
        (0, "+00:00"),
        (0.4, "-00:00"),
        (None, "—"),
        (7380, "-2h03m"),
        (400_000, "-4d15h"),
    ],
)
def test_the_sign_of_a_deadline_says_left_or_over(seconds, text):
    assert fmt.time_left(seconds) == text


@given(st.floats(-1e9, 1e9))
def test_times_never_outgrow_their_cells(seconds):
    assert cells(fmt.time_left(seconds)) <= 7
    assert cells(fmt.age(seconds)) <= 6
    assert cells(fmt.elapsed(seconds)) <= 6


def test_ages_durations_sizes_and_counts_read_well():
    assert [fmt.age(n) for n in (0.42, 9.97, 41, 420, 10_800, 200_000)] == [
        "0.4s",
        "10s",
        "41s",
        "7m",
        "3h",
        "56h",
    ]
    assert [fmt.duration(n) for n in (0.812, 2.14, 200, None)] == ["812ms", "2.14s", "3m20s", "—"]
    assert [fmt.size(n) for n in (812, 5_347_737, 8 << 30, 1 << 50)] == ["812B", "5.1M", "8.0G", "1024.0T"]
    assert [fmt.number(n) for n in (412, 12_345, 99_960, 1_234_567)] == ["412", "12.3k", "100k", "1.2M"]
    assert [fmt.plural(n, "reply") for n in (1, 2)] == ["1 reply", "2 replies"]
    assert fmt.plural(2, "day") == "2 days"
    assert fmt.clock(1_800_000_000) == "08:00:00"
    assert fmt.instant(1_800_000_000) == "2027-01-15 08:00:00Z"
    assert fmt.clock(1e300) == "—"
    assert fmt.signed(-20) == "-00:20"
    assert fmt.bar(0.5, 4) == "██░░"


def test_every_state_has_a_word_a_one_cell_sign_and_a_meaning():
    for state in (*STATES, "cancelling", "ghost"):
        assert cells(fmt.state_glyph(state)) == 1
        assert cells(fmt.state_label(state)) <= 12
        assert fmt.MEANINGS[state]
    assert fmt.state_label("something new") == "? SOMETHING "


@given(
    st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs")), max_size=40),
    st.integers(1, 30),
    st.booleans(),
)
def test_fitted_text_takes_exactly_its_cells(text, width, right):
    assert cells(fit(text, width, right=right)) == width


def test_a_wide_sign_is_never_cut_in_half():
    assert fit("日本語", 4) == "日⋯ "
    assert fit("日本語", 6) == "日本語"
    assert fit("abc", 5, right=True) == "  abc"
    assert fit("abc", 0) == ""


@pytest.mark.parametrize("room", [8, 12, 20, 24])
@pytest.mark.parametrize(
    "names",
    [
        [f"licence-review-of-the-whole-night-{number:04}" for number in range(90, 110)],
        [f"{number:04}-licence-review-of-the-whole-night" for number in range(90, 110)],
        [f"0199d2a4-77{number:02}-7000-8000-00000000000{number % 10}" for number in range(10)],
        [f"{number:08x}-1f2e-4d3c-8b5a-000000000000" for number in range(20)],
    ],
    ids=["number-last", "number-first", "uuid-by-time", "uuid-random"],
)
def test_cut_ids_stay_as_different_as_they_are(names, room):
    cut = {short_id(name, room) for name in names}
    assert len(cut) == len(names)
    assert all(cells(name) <= room for name in cut)
    assert len({id_words(name) for name in names}) == len(names)


def test_a_sentence_says_an_id_whole_where_it_can_and_of_a_random_uuid_its_first_part():
    assert id_words("licence-review-0012") == "licence-review-0012"
    assert id_words("64e50cad-1f2e-4d3c-8b5a-000000000000") == "64e50cad"
