"""Who may open a deck: whoever was told its address, on a page that this server itself gave out.

The address holds a token, made at each start, so that another person on the same machine, who can reach the
port, cannot open a deck. The browser that showed it gets a cookie with it, for what the page loads and opens.

A page of elsewhere cannot read what a deck draws, yet it could open the socket and type; one whose name was
rebound to this address could read, too. ``Origin`` says whose page asks and ``Host`` by which name; a page can
forge neither. What the deck's own page may load and be shown in is told to the browser.
"""

from collections.abc import Callable
from hmac import compare_digest
from ipaddress import ip_address
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

PLAIN = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
UNTOLD = "This deck opens by the whole address that 'jobdeck web' printed, with its token."


def gate(host: str, port: int, token: str) -> Middleware:
    """Refuses foreign names and pages, and whoever lacks ``token``; ``host`` and ``port`` are listened on."""
    cookie = f"jobdeck-{port}"  # cookies are a host's, whatever the port

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if why_not := _why_not(request, host):
            raise web.HTTPForbidden(text=f"{why_not}\n", headers=PLAIN)
        shown = request.query.get("token")
        known = shown or request.cookies.get(cookie, "")
        if not compare_digest(known.encode(errors="replace"), token.encode()):
            raise web.HTTPForbidden(text=f"{UNTOLD}\n", headers=PLAIN)
        response = await handler(request)
        if shown and not response.prepared:
            response.set_cookie(cookie, token, httponly=True, samesite="Strict")
        return response

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
