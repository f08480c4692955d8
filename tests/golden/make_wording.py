"""Make ``licences/wording.json`` again from the canonical texts: ``python tests/golden/make_wording.py``.

The long texts are those of Debian: elsewhere only the short ones are there, and tests that need the others skip.
"""

import json
from importlib.metadata import distribution
from pathlib import Path

import jobdeck_backend.workflows.licences.wording as wording
import licence_texts as texts

COMMON = Path("/usr/share/common-licenses")
_GNU_END = "end of terms and conditions"


def psf() -> str:
    """The licence agreement alone, out of the history and the other licences around it."""
    found = distribution("typing_extensions")
    whole = Path(
        str(found.locate_file(next(f for f in found.files or () if f.name == "LICENSE")))
    ).read_text()
    start = whole.index("PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2\n---")
    return whole[start : whole.index("BEOPEN.COM LICENSE AGREEMENT", start)]


def sources() -> dict[str, tuple[str, str | None]]:
    """Licence → (canonical text, the words after which copies may end)."""
    common = {
        "Apache-2.0": _GNU_END,
        "MPL-2.0": "exhibit a source code form license notice",
        "CC0-1.0": None,
        "GPL-2": _GNU_END,
        "GPL-3": _GNU_END,
        "LGPL-2.1": _GNU_END,
        "LGPL-3": None,
    }
    found: dict[str, tuple[str, str | None]] = {
        "MIT": (texts.MIT, None),
        "BSD-2-Clause": (texts.BSD_2, None),
        "BSD-3-Clause": (texts.BSD_3, None),
        "ISC": (texts.ISC, None),
        "0BSD": (texts.ZERO_BSD, None),
        "Zlib": (texts.ZLIB, None),
        "Unlicense": (texts.UNLICENSE, "for more information please refer to"),
        "PSF-2.0": (psf(), None),
    }
    for name, end in common.items():
        if not (COMMON / name).exists():
            continue
        id_ = f"{name}.0" if name in {"GPL-2", "GPL-3", "LGPL-3"} else name
        found[id_] = ((COMMON / name).read_text(), end)
    return found


def build() -> dict[str, list[tuple[str, str, int]]]:
    """The content of ``wording.json``."""
    return {id_: wording.entries(text, optional_after=end) for id_, (text, end) in sorted(sources().items())}


if __name__ == "__main__":
    if not COMMON.is_dir():
        raise SystemExit(f"{COMMON} is needed, with the texts that Debian keeps there")
    target = Path(wording.__file__).parent / "wording.json"
    lines = [f"{json.dumps(id_)}: {json.dumps(entries)}" for id_, entries in build().items()]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
