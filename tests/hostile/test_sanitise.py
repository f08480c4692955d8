"""R38: text from outside cannot act on the terminal, whatever it holds."""

import time
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_tui.text.sanitise import MARKS_MAX, block, is_safe, one_line

from .corpus import ACTIVE, HOSTILE

FORBIDDEN = {"Cc", "Cs", "Zl", "Zp"}


def survivors(text: str) -> set[str]:
    return {character for character in text if unicodedata.category(character) in FORBIDDEN}


def every_character() -> Iterator[str]:
    return map(chr, range(0x110000))


def test_r38_no_control_surrogate_or_separator_survives_over_all_code_points():
    every = "".join(every_character())
    line, lines = one_line(every, len(every)), block(every, len(every))
    assert survivors(line) == set()
    assert survivors(lines) <= {"\n"}
    assert is_safe(line)
    assert is_safe(lines, lines=True)
    for alone in (range(0x700), range(0x2000, 0x2100), range(0xD7F0, 0xE010), range(0xFE00, 0x10000)):
        for code in alone:
            assert is_safe(one_line(chr(code))), hex(code)


def test_r38_every_invisible_format_character_is_gone():
    for character in every_character():
        invisible = unicodedata.category(character) == "Cf" and not (
            unicodedata.name(character, "").startswith(("ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN"))
        )
        if invisible:
            assert one_line(character) in ("", "\ufffd"), hex(ord(character))


def test_ordinary_text_is_untouched():
    for text in (
        "writing section 3/7",
        "naïve café",
        "日本語テキスト",
        "Ελλάδα",
        "[/] [@click=app.quit]x[/]",
        "e\u0301",
    ):
        assert one_line(text) == text
        assert block(text) == text
    assert block("a\nb\r\nc") == "a\nb\nc"
    assert one_line("a\nb\r\nc") == "a␤b␤c"


def test_r38_the_hostile_corpus_comes_out_safe():
    for text in HOSTILE:
        assert is_safe(one_line(text)), text[:80]
        assert is_safe(block(text), lines=True), text[:80]
        one_line(text).encode()
        block(text).encode()


def test_r38_complete_escape_sequences_leave_nothing_behind():
    for text in ACTIVE:
        assert one_line(f"before{text}after") == "beforeafter", text


def test_r38_a_sequence_hidden_in_another_does_not_come_alive():
    assert "\x1b" not in one_line("\x1b\x1b[31m[31m")
    assert one_line("\x1b\x1b[31m[31m") == "␛[31m"


@given(st.text(alphabet=st.characters(codec=None), max_size=300), st.integers(1, 80))
def test_r38_any_text_comes_out_safe_bounded_and_stable(text, limit):
    line = one_line(text, limit)
    assert is_safe(line)
    assert len(line) <= limit
    assert one_line(line, limit) == line
    body = block(text, limit)
    assert is_safe(body, lines=True)
    assert len(body) <= limit
    assert block(body, limit) == body


@given(st.text(alphabet="\x1b\x9b\x9d\x90\x07\\[]P;0m \n\u202e\u200b\u0301a", max_size=200))
def test_r38_text_made_of_escapes_comes_out_safe(text):
    assert is_safe(one_line(text))
    assert is_safe(block(text), lines=True)


def test_combining_marks_cannot_pile_up():
    line = one_line("Z" + "\u0336" * 500 + "a" + "\u20dd" * 3)
    assert line == "Z" + "\u0336" * MARKS_MAX + "a" + "\u20dd" * 3


def test_a_cut_says_so():
    assert one_line("x" * 50, 10) == "x" * 9 + "⋯"
    assert one_line("x" * 10, 10) == "x" * 10
    assert block("é" * 50, 10) == "é" * 9 + "⋯"


LONG = 250_000


@pytest.mark.parametrize(
    "piece",
    [
        "\x1b[",
        "\x1b]",
        "\x9d",
        "\x9b0",
        "\x1b ",
        "\x1b]0;a",
        "\u202e",
        "\u0301",
        "\x1bP\x1b",
        "a",
        "\r",
        "0;",
    ],
)
def test_r38_time_is_linear_in_hostile_input(piece):
    def seconds(length: int) -> float:
        text = "\x1b[" + piece * (length // len(piece))
        started = time.process_time()
        block(text, length + 2)
        one_line(text, length + 2)
        return time.process_time() - started

    seconds(LONG // 8)
    small, large = seconds(LONG // 8), seconds(LONG)
    assert large < 0.5
    # Eight times the text: a quadratic search would take 64 times as long.
    assert large < 24 * max(small, 0.01)


def test_a_megabyte_costs_only_its_bound():
    text = "\x1b[31m\u202e" * 200_000
    started = time.process_time()
    for _ in range(100):
        one_line(text, 200)
    assert time.process_time() - started < 0.5
