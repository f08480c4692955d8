"""``jobdeck config`` and ``--profile``: what holds, where it stands, and which server is meant."""

import json

import click
import command_line
import pytest
from jobdeck_tui.cli.options import server_url


@pytest.fixture
def jobdeck(tmp_path):
    """Runs a command with a config file of this text."""

    def call(text, *arguments, code=0, **variables):
        path = tmp_path / "config.toml"
        if text:
            path.write_text(text)
        variables |= {"JOBDECK_CONFIG": str(path), "JOBDECK_STATE_DIR": str(tmp_path / "state")}
        return "".join(command_line.jobdeck(*arguments, code=code, **variables))

    return call


def test_config_tells_the_path_what_holds_and_what_one_may_write(jobdeck, tmp_path):
    told = jobdeck("", "config")
    assert f"{tmp_path / 'config.toml'}  (not there: defaults hold)" in told
    assert "grace_seconds  3.0" in told
    assert '# "act.cancel" = "X"' in told
    assert "Jobs       act.cancel               c" in jobdeck("", "config", "--keys")


def test_config_tells_what_cannot_be_used_and_exits_1(jobdeck):
    text = '[keys]\n"act.cancel" = "e"\n"act.destroy" = "x"\n[profiles.prod]\ntoken = "hidden"\nurl = "http://a"\n'
    told = jobdeck(text, "config", code=1)
    assert "e is the key of act.expire on Jobs; act.cancel keeps its own" in told
    assert "nothing is named act.destroy" in told
    assert "There is no theme pink: dark, " in jobdeck('theme = "pink"', "config", code=1)
    assert "secrets come from the environment" in told
    assert "hidden" not in told
    data = json.loads(jobdeck(text, "config", "--json", code=1))
    assert (len(data["problems"]), data["keys"], data["profiles"]["prod"]["url"]) == (3, {}, "http://a")


def test_nothing_is_drilled_on_a_profile_of_production(jobdeck):
    text = 'profile = "prod"\n[profiles.prod]\nurl = "http://127.0.0.1:9"\nenvironment = "PROD"\n'
    for named in ((), ("--profile", "prod")):
        told = jobdeck(text, "drill", "worker-loss", "--yes", *named, code=4)
        assert "Profile prod is PROD" in told
        assert "Nothing was sent" in told


def test_a_profile_is_the_server_that_every_command_means(jobdeck):
    text = 'profile = "near"\n[profiles.near]\nurl = "http://127.0.0.1:9"\n[profiles.far]\nurl = "http://127.0.0.1:7"\n'
    assert "127.0.0.1:9" in jobdeck(text, "list", code=3)
    assert "127.0.0.1:7" in jobdeck(text, "list", "--profile", "far", code=3)
    assert "127.0.0.1:7" in jobdeck(text, "--profile", "far", "list", code=3)
    assert "127.0.0.1:7" in jobdeck(text, "list", code=3, JOBDECK_PROFILE="far")
    assert "127.0.0.1:5" in jobdeck(text, "--server", "http://127.0.0.1:5", "list", code=3)
    assert "there is no profile moon; there are: near, far" in jobdeck(
        text, "list", "--profile", "moon", code=2
    )


@pytest.mark.parametrize("url", ['"ftp://a"', '"http://me:hidden@127.0.0.1:9"', "7"])
def test_a_profile_without_a_usable_address_is_no_other_server(jobdeck, url):
    text = f"profile = 'a'\n[profiles.a]\nurl = {url}\n"
    for command in (("list", "--profile", "a"), ("list",), ("cancel", "some-job")):
        told = jobdeck(text, *command, code=2)
        assert "profiles.a.url must be" in told
        assert "hidden" not in told
    told = jobdeck(text, "config", code=1)
    assert "The profile is left out." in told
    assert "hidden" not in told


def test_a_profile_that_is_misspelt_in_the_file_is_no_other_server(jobdeck):
    assert "there is no profile porduction" in jobdeck('profile = "porduction"', "list", code=2)


ADDRESSES = {
    "http://127.0.0.1:8787": True,
    "http://127.0.0.1:8787/": True,
    "https://prod-eu.example.com": True,
    "http://localhost:65535": True,
    "http://[::1]:80": True,
    "http://10.0.0.7:1": True,
    "http://bücher.example": True,
    "http://a:0": False,
    "http://a:65536": False,
    "http://a:99999": False,
    "http://": False,
    "http://a/b": False,
    "http://a?b": False,
    "http://a#b": False,
    "ftp://a": False,
    "a:80": False,
    "http://999.1.1.1": False,
    "http://a\n": False,
    "http://xn--.example": False,
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_a_host_with_a_port_and_nothing_behind_it(address):
    if ADDRESSES[address]:
        assert server_url(None, None, address) == address.rstrip("/")
    else:
        with pytest.raises(click.BadParameter, match="write it as http://host:port"):
            server_url(None, None, address)


def test_a_read_only_profile_is_only_looked_at(jobdeck):
    text = '[profiles.prod]\nurl = "http://127.0.0.1:9"\nread_only = true\n'
    for words in (["cancel", "one"], ["prune", "--older-than", "7d"], ["reconcile", "--apply"]):
        assert "Profile prod is read-only" in jobdeck(text, "--profile", "prod", *words, code=4)
    for words in (["list"], ["prune", "--older-than", "7d", "--dry-run"], ["reconcile"]):
        assert "127.0.0.1:9" in jobdeck(text, "--profile", "prod", *words, code=3)
