"""The backend over HTTP: requests, live feeds, and decoding into immutable, sanitised values."""

import sys

# httpx would load its own command line with it, highlighter and all, and a decompressor: 3.8 MB that no deck uses.
# It takes this for "not installed", which it provides for.
for _name in ("httpx._main", "zstandard"):
    sys.modules.setdefault(_name, None)  # type: ignore[arg-type]
