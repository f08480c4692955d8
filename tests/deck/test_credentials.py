"""A deck and a command line at a server that asks who they are (R32, R36)."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import jobdeck, ran
from jobdeck_tui.app import DeckApp
from jobdeck_tui.client.credentials import keep_in, token_for
from jobdeck_tui.client.errors import Denied
from jobdeck_tui.client.http import Http
from jobdeck_tui.reaching import Reaching
from jobdeck_tui.web.deck import main as page_deck
from jobdeck_tui.web.serving import WebDeck
from running_backend import RunningBackend
from starting_backends import one_backend

from .deck_driver import screen_text
from .live_deck import until
from .wayward import answer, wayward


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBackend]:
    with one_backend(tmp_path_factory.mktemp("guarded"), "--auth") as running:
        yield running


def made(backend: RunningBackend, name: str, *options: str) -> str:
    said, _ = jobdeck("token", name, *options, "--state-dir", str(backend.state_dir))
    return said.strip()


def test_a_command_without_a_token_is_told_what_says_who_one_is(guarded: RunningBackend) -> None:
    _, said = jobdeck("list", "--server", guarded.url, code=4)
    assert "JOBDECK_TOKEN" in said
    assert "nothing was done" in said
    _, said = jobdeck("list", "--server", guarded.url, code=4, JOBDECK_TOKEN="not.a.token")
    assert "not valid here" in said


def test_r36_a_token_of_a_role_lets_its_caller_do_what_the_role_may(guarded: RunningBackend) -> None:
    alice = made(guarded, "alice")
    said, _ = jobdeck(
        "submit", "probe", "{}", "--job-id", "hers", "--server", guarded.url, JOBDECK_TOKEN=alice
    )
    assert "hers" in said
    _, said = jobdeck("list", "--server", guarded.url, code=4, JOBDECK_TOKEN=alice)
    assert "takes the role viewer" in said
    _, said = jobdeck("events", "--server", guarded.url, code=4, JOBDECK_TOKEN=alice)
    assert said.endswith("takes the role viewer, which your token does not give; nothing was done.\n")
    viewer = made(guarded, "olga", "--role", "viewer")
    said, _ = jobdeck("list", "--server", guarded.url, JOBDECK_TOKEN=viewer)
    assert "hers" in said
    _, said = jobdeck("pause", "probe", "--server", guarded.url, code=4, JOBDECK_TOKEN=viewer)
    assert "takes the role operator" in said
    operator = made(guarded, "olga", "--role", "operator", "--hours", "1")
    jobdeck("pause", "probe", "--server", guarded.url, JOBDECK_TOKEN=operator)
    said, _ = jobdeck("audit", "--server", guarded.url, JOBDECK_TOKEN=viewer)
    assert "olga jobd" in said


@pytest.mark.parametrize(
    ("options", "variables", "said"),
    [
        (("--hours", "nan"), {}, "--hours is to be a number"),
        ((), {"JOBDECK_AUTH_ISSUER": "two words"}, "JOBDECK_AUTH_ISSUER"),
        ((), {"JOBDECK_TOKEN_SECRET": "short"}, "fewer than 32 bytes"),
        ((), {"JOBDECK_AUTH_KEYS": "/keys.json"}, "another issuer"),
    ],
    ids=["hours", "issuer", "secret", "keys"],
)
def test_a_token_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, options: tuple[str, ...], variables: dict[str, str], said: str
) -> None:
    code, made, why = ran("token", "olga", *options, "--state-dir", str(tmp_path / "new"), **variables)
    assert (code != 0, made) == (True, "")
    assert said in why
    assert "Traceback" not in why
    assert not (tmp_path / "new").exists()


def test_a_name_too_long_beside_its_issuer_is_told_so(tmp_path: Path) -> None:
    code, made, why = ran("token", "n" * 60, "--state-dir", str(tmp_path), JOBDECK_AUTH_ISSUER="i" * 100)
    assert (code, made) == (2, "")
    assert "issuer and subject have more than 127 characters together" in why


def test_a_secret_that_cannot_be_kept_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, made, why = ran("token", "olga", "--state-dir", str(tmp_path / "file" / "below"))
    assert (code, made) == (12, "")
    assert why.startswith("jobdeck: the secret ")
    assert "Traceback" not in why


def test_a_profiles_token_is_read_from_its_file(guarded: RunningBackend, tmp_path: Path) -> None:
    file, config = tmp_path / "token", tmp_path / "config.toml"
    config.write_text(f'[profiles.guarded]\nurl = "{guarded.url}/"\ntoken_file = "{file}"\n')
    _, said = jobdeck("list", "--profile", "guarded", code=4, JOBDECK_CONFIG=str(config))
    assert f"The token file {file} cannot be read" in said
    file.write_text(made(guarded, "olga", "--role", "viewer") + "\n")
    jobdeck("list", "--profile", "guarded", JOBDECK_CONFIG=str(config))


def test_a_page_of_a_profiles_deck_is_given_its_token_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, config, url = tmp_path / "token", tmp_path / "config.toml", "https://deck.example"
    config.write_text(f'[profiles.guarded]\nurl = "{url}"\ntoken_file = "{file}"\n')
    file.write_text("abc.def.ghi")
    given: list[str] = []
    sent: list[str] = []
    monkeypatch.setattr(WebDeck, "__init__", lambda _self, _listening, arguments: given.extend(arguments))
    monkeypatch.setattr(WebDeck, "url", "")
    monkeypatch.setattr(WebDeck, "run", lambda _self, _ready: None)
    monkeypatch.setattr(DeckApp, "run", lambda _self: sent.append(token_for(url)))
    monkeypatch.setattr("jobdeck_tui.web.deck.end_with_parent", lambda: None)
    jobdeck("web", "--port", "0", "--profile", "guarded", JOBDECK_CONFIG=str(config))
    monkeypatch.setattr("jobdeck_tui.client.credentials._files", {})  # the page is a process of its own
    assert page_deck(given) == 0
    assert sent == ["abc.def.ghi"]


def test_r37_a_deck_that_is_not_let_in_says_denied_and_goes_on_once_it_is(
    guarded: RunningBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobdeck_tui.client.feed.DENIED_RETRY_SECONDS", 0.2)
    file = tmp_path / "token"
    keep_in(guarded.url, str(file))
    file.write_text(made(guarded, "olga"))

    async def walk() -> None:
        app = DeckApp(Reaching(guarded.url))
        async with asyncio.timeout(100), app.run_test(size=(120, 36)) as pilot:
            await until(pilot, lambda: "✖ DENIED 403" in screen_text(pilot))
            file.write_text("nonsense")
            await until(pilot, lambda: "✖ DENIED 401" in screen_text(pilot))
            file.unlink()
            await until(pilot, lambda: f"The token file {file} cannot be read" in app.deck.connection.reason)
            file.write_text(made(guarded, "olga", "--role", "viewer"))
            await until(pilot, lambda: "✔ LIVE" in screen_text(pilot))

    asyncio.run(walk())


def test_a_token_goes_nowhere_that_others_could_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBDECK_TOKEN", "abc.def.ghi")
    with pytest.raises(Denied, match="https only"):
        asyncio.run(Http("http://deck.example").get("/v1/ops/overview"))

    async def asked_of_another() -> str:
        async with wayward([answer(200, {})]) as server:
            keep_in("https://deck.example", str(tmp_path / "of-another-server"))
            http = Http(server.url)
            await http.get("/")
            await http.close()
            return server.requests[0]

    monkeypatch.delenv("JOBDECK_TOKEN")
    assert "uthorization" not in asyncio.run(asked_of_another())
