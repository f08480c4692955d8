"""Where the backend may send requests that a caller named: checked when asked for, and again as it connects.

A name is resolved once for a request; what it resolved to is checked, and that very address is connected to. A
name that answers differently the next time (DNS rebinding) gains nothing.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable
from ssl import SSLContext

import httpx

from jobdeck_backend.errors import AddressRefused, InvalidInput

URL_CHARS_MAX = 2_000
NAME_CHARS_MAX, LABEL_CHARS_MAX = 253, 63
ADDRESSES_TRIED_MAX = 4
# Answers on an address that looks public: the metadata service of one large cloud.
METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
_LABEL = re.compile("[a-zA-Z0-9_-]+")
_NUMBER = re.compile("[0-9]+|0[xX][0-9a-fA-F]*")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host in the order to try them. Raises ``OSError`` when it has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for _family, _type, _protocol, _name, sockaddr in found]


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet: not private, loopback, link-local nor a metadata one."""
    plain = _embedded(ipaddress.ip_address(address.partition("%")[0]))
    return plain.is_global and not plain.is_multicast and plain not in METADATA


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 one leads to, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def check_url(text: str, *, allow_private: bool) -> httpx.URL:
    """A URL that may be sent to, as far as its text tells; names are not looked up here.

    Raises ``InvalidInput``. Its message never repeats the URL, which may hold a password.
    """
    if len(text) > URL_CHARS_MAX:
        raise InvalidInput(f"a URL may have at most {URL_CHARS_MAX} characters")
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        # What is wrong; behind the colon is where.
        raise InvalidInput(f"it is not a URL ({str(error).partition(':')[0]})") from None
    except ValueError:
        raise InvalidInput("it is not a URL (not all of it has a UTF-8 form)") from None
    if url.scheme not in {"http", "https"} or not url.raw_host:
        raise InvalidInput("a URL must begin with http:// or https:// and name a host")
    if url.port is not None and not 0 < url.port < 65_536:
        raise InvalidInput("a URL's port must be between 1 and 65535")
    if url.userinfo:
        raise InvalidInput("a URL must not hold a user name or password")
    if (why_not := _why_no_host(url)) is not None:
        raise InvalidInput(f"the URL's host cannot exist: {why_not}")
    if not allow_private and not _may_be_public(_host(url)):
        raise _refusal()
    return url


def _why_no_host(url: httpx.URL) -> str | None:
    """What is wrong with a host that no resolver would find; None where one might."""
    host = _host(url)
    if ":" in host:
        return None  # an IPv6 address, and httpx took it for one
    name = host.removesuffix(".")
    labels = name.split(".")
    if not all(labels):
        return "there is nothing before, between or behind its dots"
    if len(name) > NAME_CHARS_MAX or any(len(label) > LABEL_CHARS_MAX for label in labels):
        return f"a name has at most {NAME_CHARS_MAX} characters, and {LABEL_CHARS_MAX} between two dots"
    if not all(map(_LABEL.fullmatch, labels)):
        return "a name has letters, digits, hyphens and underscores between its dots"
    if _NUMBER.fullmatch(labels[-1]) and _as_resolvers_read(name) is None:
        return "what ends in a number is an IPv4 address, and this is none"
    try:
        url.host  # noqa: B018  reads the international form
    except ValueError:
        return "it is not the ASCII form of any international name"
    return None


def _as_resolvers_read(name: str) -> str | None:
    """The IPv4 address that resolvers take a name for, 127.1, 0x7f000001 and the like included."""
    try:
        return socket.inet_ntoa(socket.inet_aton(name))
    except OSError:
        return None


def _host(url: httpx.URL) -> str:
    """The host as it is looked up and as certificates name it: ASCII, unlike ``url.host``."""
    return url.raw_host.decode("ascii")


def origin(text: str) -> str:
    """Scheme, host and port of a URL: what may be shown and logged, as paths and queries may hold secrets."""
    url = httpx.URL(text)
    return str(url.copy_with(userinfo=b"", raw_path=b"/", fragment=None)).rstrip("/")


def _may_be_public(host: str) -> bool:
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return False
    try:
        return is_public(name)
    except ValueError:
        pass
    address = _as_resolvers_read(name)
    return address is None or is_public(address)


def _refusal() -> AddressRefused:
    return AddressRefused(
        "private, loopback, link-local and metadata addresses are refused here "
        "(JOBDECK_ALLOW_PRIVATE_ADDRESSES=true allows them)"
    )


class CheckedTransport(httpx.AsyncBaseTransport):
    """Connects only to addresses that were checked. Raises ``AddressRefused`` before anything is sent."""

    def __init__(
        self, *, allow_private: bool, resolve: Resolve = resolve, verify: SSLContext | bool = True
    ) -> None:
        """``verify`` as httpx takes it; certificates are verified against the name, not the address."""
        self._allow_private = allow_private
        self._resolve = resolve
        # No connection is kept: it is known by its address, and another name may lead to the same one.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._inner = httpx.AsyncHTTPTransport(verify=verify, limits=limits, trust_env=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send to the first address that takes the connection."""
        url, host = request.url, _host(request.url)
        port = url.port or {"http": 80, "https": 443}[url.scheme]
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(f"the host has no address ({error})", request=request) from None
        if not self._allow_private and not all(map(is_public, addresses)):
            raise _refusal()
        failure: httpx.TransportError = httpx.ConnectError("the host has no address", request=request)
        request.extensions = {**request.extensions, "sni_hostname": host}
        for address in addresses[:ADDRESSES_TRIED_MAX]:
            request.url = url.copy_with(host=address)
            try:
                return await self._inner.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
            finally:
                request.url = url
        raise failure

    async def aclose(self) -> None:
        """Close every connection."""
        await self._inner.aclose()


def open_client(*, allow_private: bool, timeout_s: float) -> httpx.AsyncClient:
    """A client for URLs that callers named: every address checked, no redirect followed, no proxy asked."""
    transport = CheckedTransport(allow_private=allow_private)
    # With a proxy from the environment it would be the proxy that connects, to addresses nobody checked.
    return httpx.AsyncClient(transport=transport, timeout=timeout_s, follow_redirects=False, trust_env=False)
