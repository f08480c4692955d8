"""Addresses that callers name, for the backend to call: what they may look like and where they may lead."""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from jobdeck_backend.errors import NotAllowed

URL_CHARS_MAX = 2_000
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_url(url: str) -> None:
    """Raise ``ValueError`` with a sentence unless this is an http or https address without a password in it."""
    if len(url) > URL_CHARS_MAX or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError(f"an address has at most {URL_CHARS_MAX} plain characters and no spaces")
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("that is no address") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("an address begins with http:// or https:// and a host")
    if "@" in parts.netloc:
        raise ValueError("an address carries no user name or password")


def refuse_private(host: str, addresses: Iterable[str]) -> None:
    """Raise ``NotAllowed`` if a host has any address that is not the open internet's, loopback included."""
    for address in addresses:
        if not _is_public(ipaddress.ip_address(address)):
            raise NotAllowed(
                f"{host} leads to {address}, which is private; JOBDECK_ALLOW_PRIVATE_ADDRESSES=true allows that"
            )


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        inside = _embedded(address)
        if inside is not None:
            return _is_public(inside)
    return address.is_global and not address.is_multicast


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one really means."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
