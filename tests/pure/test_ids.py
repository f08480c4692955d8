"""Ids: the server's own stand together where their jobs do; callers' own are addressed and shown as they are."""

import string
import unicodedata
from urllib.parse import unquote, urlsplit
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jobdeck_backend.jobs.ids import LENGTH_MAX, check_id, file_name, job_path, new_id
from jobdeck_tui.client.fields import ID_LIMIT
from jobdeck_tui.text.sanitise import one_line


def accepted(text: str) -> bool:
    try:
        return check_id(text) == text
    except ValueError:
        return False


@given(st.text(min_size=1, max_size=LENGTH_MAX))
@example("e" + "\u0301" * 5)
@example("a\u115fb")
@example("a\ufe0fb")
@example("a\U000e0100b")
def test_what_is_accepted_the_deck_shows_and_addresses_unchanged(text: str) -> None:
    if accepted(text):
        assert one_line(text, ID_LIMIT) == text
        assert "/" not in text
        assert not any(unicodedata.category(character).startswith("C") for character in text)


@given(st.text(min_size=1, max_size=LENGTH_MAX), st.text(min_size=1, max_size=LENGTH_MAX))
@example("\U0001f600" * LENGTH_MAX, "x" * LENGTH_MAX)
@example("a b", file_name("a b"))
@example("a b", "a_b")
@example("-rf", ".hidden")
def test_a_jobs_files_have_a_name_that_every_file_system_takes_and_no_other_jobs(
    one: str, other: str
) -> None:
    if accepted(one) and accepted(other):
        name = file_name(one)
        assert (len(name) <= 100, name.isascii(), name[0] in ".-") == (True, True, False)
        assert not set(name) - set(f"{string.ascii_letters}{string.digits}_-.")
        assert (name == file_name(other)) == (one == other)


def test_an_id_of_the_jobs_api_is_its_files_name() -> None:
    assert file_name("A-b_9") == "A-b_9"


@given(st.text(min_size=1, max_size=LENGTH_MAX))
@example("a?b#c%2Fd")
def test_a_jobs_path_is_one_that_a_request_can_have(text: str) -> None:
    if accepted(text):
        parsed = urlsplit(job_path(text))
        assert (parsed.query, parsed.fragment) == ("", "")
        assert unquote(parsed.path) == f"/v1/jobs/async/job/{text}"


@pytest.mark.parametrize(
    "text", ["x", "a b", "A-b_c", "ünïcödé", "日本語", "\U0001f600", "?#%&", "...", "x" * LENGTH_MAX]
)
def test_ids_of_the_peers_clients_are_accepted(text: str) -> None:
    assert accepted(text)


@pytest.mark.parametrize(
    "text", ["", ".", "..", "a/b", "\n", "\x00", "\x85", "\ud800", "\u202e", "\ufeff", "x" * 257]
)
def test_what_a_path_or_a_person_cannot_tell_is_refused(text: str) -> None:
    assert not accepted(text)


def test_a_new_id_is_a_random_uuid_that_no_other_job_has() -> None:
    ids = {new_id(1_700_000_000.0) for _ in range(10_000)}
    assert len(ids) == 10_000
    for text in ids:
        assert str(UUID(text)) == text
        assert UUID(text).version == 4


def test_jobs_of_one_moment_are_neighbours_and_a_minute_s_are_spread_over_all_ids() -> None:
    at = 1_700_000_000.0
    assert len({new_id(at)[:3] for _ in range(100)}) == 1
    seen = {new_id(at + number / 64)[:3] for number in range(4096)}
    assert len(seen) == 4096
    assert new_id(at)[:3] == new_id(at + 64)[:3]
