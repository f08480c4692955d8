"""Which URLs that a caller names may be sent to, by their text alone, and how a body sent there is signed."""

import hashlib
import hmac

import pytest
from jobdeck_backend.addresses import check_url, is_public, origin
from jobdeck_backend.errors import AddressRefused, InvalidInput, StartRefused
from jobdeck_backend.notify.sender import retry_delay_s
from jobdeck_backend.notify.signing import load_secret, sign
from jobdeck_backend.settings import Settings

PRIVATE = [
    *("http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://0/"),
    *("http://[::1]/", "http://[::]/", "http://[::ffff:10.0.0.1]/", "http://[64:ff9b::7f00:1]/"),
    *("http://[2002:7f00:1::]/", "http://[fe80::1]/", "http://[fd00:ec2::254]/", "http://[ff02::1]/"),
    *("http://10.1.2.3/", "http://172.16.0.1/", "http://192.168.1.1:8080/x", "https://100.100.100.200/"),
    *("http://169.254.169.254/latest/meta-data", "http://168.63.129.16/", "http://224.0.0.1/"),
    *("http://localhost/", "http://localhost.:80/", "http://LOCALHOST/", "http://a.localhost/"),
]
UNUSABLE = [
    *("", "nonsense", "/relative", "ftp://example.org/", "file:///etc/passwd", "http://", "http:///path"),
    *("http://user@example.org/", "http://user:secret@example.org/", "http://example.org\\@127.0.0.1/"),
    *("http://example.org:0/", "http://example.org:99999/", "http://example.org/\n", "http://\udc80/"),
    "http://example.org/" + "a" * 2000,
]
NO_HOSTS = [
    *(
        ".",
        "..",
        ".a",
        "a..b",
        "a..",
        "a。。b",
        "a" * 64,
        "a." * 126 + "ab",
        "xn--",
        "a b",
        " ",
        "a%00b",
        "a\tb",
    ),
    *(
        "a\\b",
        "a,b",
        "*",
        "a<b>",
        "a\u2028b",
        "\u00ad",
        "256.1.1.1",
        "999.999.999.999",
        "08.8.8.8",
        "1.2.3.4.5",
    ),
    *("4294967296", "0x1ffffffff", "a.1", "a.0x7f", "[::1", "[zz]", "[::g]", "2606:4700::1111"),
]
HOSTS = [
    *(
        "a",
        "a.",
        "A.Example",
        "a-b.example",
        "-a.example",
        "a_b",
        "xn--mnchen-3ya.example",
        "münchen.example",
    ),
    *("a" * 63, "a." * 126 + "a", "a。example", "1.example", "8.8.8.8", "8.8.8.8.", "8.8", "134744072"),
    *("[2606:4700::1111]", "a:8080", "a:"),
]


@pytest.mark.parametrize("url", PRIVATE)
def test_a_url_to_this_network_is_refused_unless_allowed(url):
    with pytest.raises(AddressRefused):
        check_url(url, allow_private=False)
    check_url(url, allow_private=True)


@pytest.mark.parametrize("url", UNUSABLE)
def test_what_is_no_url_to_send_to_is_refused_and_never_repeated(url):
    for allow_private in (False, True):
        with pytest.raises(InvalidInput) as refusal:
            check_url(url, allow_private=allow_private)
        assert "secret" not in refusal.value.message


@pytest.mark.parametrize("host", NO_HOSTS)
def test_a_host_that_cannot_exist_is_refused_wherever_it_may_lead(host):
    for allow_private in (False, True):
        with pytest.raises(InvalidInput) as refusal:
            check_url(f"http://{host}/secret", allow_private=allow_private)
        assert "secret" not in refusal.value.message


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_that_may_exist_is_taken_and_can_be_shown(host):
    assert origin(str(check_url(f"http://{host}/secret", allow_private=False))).startswith("http://")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "https://hooks.example.org:8443/a?b=c",
        "http://8.8.8.8/",
        "http://münchen.example/",
    ],
)
def test_a_public_url_is_taken(url):
    check_url(url, allow_private=False)


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808"])
def test_public_addresses_are_told_from_others(address):
    assert is_public(address)


def test_only_the_origin_of_a_url_is_shown():
    assert (
        origin("https://hooks.example.org:8443/T0/secret?token=secret#x") == "https://hooks.example.org:8443"
    )
    assert origin("http://example.org") == "http://example.org"


def test_a_signature_can_be_checked_as_the_readme_says():
    body = '{"name":"ü"}'.encode()
    t, v1 = (part.partition("=")[2] for part in sign(b"secret", body, 1_700_000_000).split(","))
    assert t == "1700000000"
    assert v1 == hmac.new(b"secret", f"{t}.".encode() + body, hashlib.sha256).hexdigest()


def test_a_secret_is_made_once_and_readable_by_its_owner_alone(tmp_path, monkeypatch):
    settings = Settings(state_dir=tmp_path, callback_secret=None)
    made = load_secret(settings)
    assert len(made) == 64
    assert load_secret(settings) == made
    assert settings.callback_secret_path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [settings.callback_secret_path.name]
    configured = Settings(state_dir=tmp_path, callback_secret="configured")
    assert load_secret(configured) == b"configured"
    assert "configured" not in repr(configured)


@pytest.mark.parametrize(
    ("kept", "mode", "said"),
    [("", 0o600, "fewer than 32 bytes"), ("abc\n", 0o600, "fewer"), ("s" * 64, 0o604, "everybody can read")],
    ids=["empty", "short", "everybody's"],
)
def test_a_secret_that_others_could_know_signs_nothing(tmp_path, kept, mode, said):
    settings = Settings(state_dir=tmp_path, callback_secret=None)
    settings.callback_secret_path.write_text(kept)
    settings.callback_secret_path.chmod(mode)
    with pytest.raises(StartRefused, match=said):
        load_secret(settings)


def test_pauses_double_and_end_at_an_hour():
    assert [retry_delay_s(5, attempts) for attempts in (1, 2, 3, 4)] == [5, 10, 20, 40]
    assert retry_delay_s(5, 12) == retry_delay_s(5, 1000) == 3600
