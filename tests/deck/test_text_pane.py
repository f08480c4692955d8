"""Wrapping: nothing is lost or wider than its room, columns stay, and a huge line costs what it is long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_tui.text.format import cells
from jobdeck_tui.widgets import text_pane
from jobdeck_tui.widgets.text_pane import wrapped

PIECES = st.lists(st.tuples(st.text("ab 漢é\u0301⋯", max_size=40), st.just("")), max_size=5)


@given(PIECES, st.integers(2, 40))
def test_what_is_wrapped_is_the_same_text_in_rows_that_fit(row: list[tuple[str, str]], width: int) -> None:
    rows = wrapped(row, width)
    shown = "".join(text for one in rows for text, _ in one)
    assert shown.replace(" ", "") == "".join(text for text, _ in row).replace(" ", "")
    assert all(sum(cells(text) for text, _ in one) <= max(width, 3) for one in rows)


def test_what_is_a_column_stays_one() -> None:
    row = [("12:00:01  seen  ", "faint"), ("one two three four five", "")]
    texts = ["".join(text for text, _ in one) for one in wrapped(row, 34)]
    assert texts == ["12:00:01  seen  one two three four", " " * 16 + "five"]


@pytest.mark.parametrize("sign", ["x", "é", "漢 "])
def test_a_line_of_a_megabyte_is_looked_at_once_and_not_for_each_of_its_rows(
    monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    looked_at = 0

    def counting(text: str) -> int:
        nonlocal looked_at
        looked_at += len(text)
        return cells(text)

    monkeypatch.setattr(text_pane, "cells", counting)
    text = sign * 300_000
    rows = wrapped([(text, "")], 80)
    assert len(rows) > 3_000
    assert looked_at <= 3 * len(text)
