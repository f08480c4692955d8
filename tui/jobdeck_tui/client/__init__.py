"""The backend over HTTP: requests, live feeds, and decoding into immutable, sanitised values."""

import sys

# httpx would load its own command line with it, highlighter and all: 3.5 MB that no deck uses. It takes this
# for "not installed", which it provides for.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
