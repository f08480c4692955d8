"""What is taken out of an incident bundle: secrets by their shape, in a time that grows as the text does."""

import pytest
from jobdeck_backend.upkeep.redaction import REDACTED, without_secrets

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
SIZE = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        *(f"x {TOKEN} y", f"({TOKEN})", f"session-{TOKEN}", f"Bearer {TOKEN}"),
        *("api_key=abcdefgh", "my-password: 'abcdefgh'", '"--token": "abcdefgh"', "sk-abcdefghijklmnop"),
        "postgresql://user:abcdefgh@host/name",
        "-----BEGIN PRIVATE KEY-----\nabcdefgh\n-----END PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str) -> None:
    told = without_secrets({"text": [text]})["text"][0]
    assert REDACTED in told
    assert not any(secret in told for secret in ("abcdefgh", "hbGci", "c2lnbmF0dXJl"))


@pytest.mark.parametrize(
    "text", ["a-b-c", "the token was lost", "eyJust a word", "http://host:80/path", "mask-ask"]
)
def test_other_words_stay(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "piece",
    ["a-", "eyJaaaaaaaa-", "sk-a", "x-token-", "token ", "://a:b", "-----BEGIN A ", "bearer \n", "password"],
)
def test_a_megabyte_of_beginnings_takes_no_hours(piece: str) -> None:
    """The interpreter is not let go meanwhile: the whole server would stand still."""
    text = piece * (SIZE // len(piece))
    assert len(without_secrets(text)) <= len(text)
