"""Whose page may open a deck: only one that this server itself gave out, asked for by a name of its own.

A page of elsewhere cannot read what a deck draws, yet it could open the socket and type; one whose name was
rebound to this address could read, too. ``Origin`` says whose page asks and ``Host`` by which name; a page can
forge neither. What the deck's own page may load and be shown in is told to the browser.
"""

from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

PLAIN = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


def gate(host: str) -> Middleware:
    """Refuses foreign names and pages; ``host`` is the address listened on."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if why_not := _why_not(request, host):
            raise web.HTTPForbidden(text=f"{why_not}\n", headers=PLAIN)
        return await handler(request)

    return guarded


async def mark(request: web.Request, response: web.StreamResponse) -> None:
    """Tells the browser that everything comes from here, that no other page may frame the deck, and that it opens
    none: the terminal in the page makes links of whatever looks like one, and jobs write what they like.
    """
    own = f"'self' ws://{request.host} wss://{request.host}"
    rules = (
        "default-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # the terminal's own, made as it runs
        "img-src 'self' data:",
        f"connect-src {own}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "sandbox allow-scripts allow-same-origin",
    )
    response.headers.update({**PLAIN, "Content-Security-Policy": "; ".join(rules)})


def is_local(name: str) -> bool:
    """Whether a name means this machine wherever it is looked up."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return _address(name, lambda name: ip_address(name).is_loopback)


def _why_not(request: web.Request, host: str) -> str | None:
    name = _host_name(f"//{request.host}")
    # A name that was rebound is a name: whoever listens for others is reached by address, or as told by --host.
    known = is_local(name) or (not is_local(host) and (name == host or _address(name, ip_address)))
    if not known:
        return "This deck is not reached by that name."
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.host.lower():
        return "A page of another origin may not use this deck."
    return None


def _host_name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _address(name: str, holds: Callable[[str], object]) -> bool:
    try:
        return bool(holds(name))
    except ValueError:
        return False
