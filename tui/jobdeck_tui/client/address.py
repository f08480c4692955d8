"""What names a server: ``http://host:port``, and nothing behind it."""

import re

PLAIN_URL = re.compile(
    r"https?://(?!.*xn--)(?:127\.0\.0\.1|[a-z][a-z0-9.-]*)(?::[1-9][0-9]{0,3}|:[1-5][0-9]{4})?/?"
)
"""An address that is one without a closer look: the HTTP client, which knows best, takes a tenth of a second to
import, and the deck draws its first frame without it."""


def is_address(text: str, *, with_secret: bool = True) -> bool:
    """Whether a server can be asked there; ``with_secret``: a name and password before the host are let pass."""
    if PLAIN_URL.fullmatch(text):
        return True
    import httpx

    try:
        url = httpx.URL(text)
        return (
            url.scheme in ("http", "https")
            and url.host != ""
            and (url.port is None or 0 < url.port < 65536)
            and (url.raw_path, url.fragment) == (b"/", "")
            and (with_secret or not url.userinfo)
        )
    except (httpx.InvalidURL, ValueError):  # among the latter, names that cannot be looked up
        return False
