"""Which addresses a caller may name."""

import pytest
from jobdeck_backend.addresses import check_url, refuse_private
from jobdeck_backend.errors import NotAllowed


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "http://example.org:8080/a?b=c",
        "http://[2606:4700::1]/",
        "HTTPS://EXAMPLE.org/%20",
    ],
)
def test_an_http_address_is_taken(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://user:word@example.org",
        "http://example.org:port/",
        "http://example.org:99999/",
        "http://[::1",
        "http://example.org/a b",
        "http://example.org/\r\nX: y",
        "http://exämple.org",
        "http://example.org/" + "x" * 2000,
    ],
)
def test_what_is_no_plain_http_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        check_url(url)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_a_host_with_any_private_address_is_refused(address: str) -> None:
    with pytest.raises(NotAllowed, match="private"):
        refuse_private("example.org", ["93.184.216.34", address])


def test_the_open_internet_is_allowed() -> None:
    refuse_private("example.org", ["93.184.216.34", "2606:4700::6810:85e5", "64:ff9b::5db8:d822"])
