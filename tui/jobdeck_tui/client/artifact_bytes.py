"""The bytes of a job's files, read in part or saved whole.

They are whatever a job wrote: shown only as safe text, saved only under a name of the deck's own making, and only
if they are what their record announces.
"""

import hashlib
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

from jobdeck_tui.text.sanitise import block, one_line

from .api import JOBS, Api
from .artifacts import Artifact
from .errors import NotSaved
from .fields import NOTE_LIMIT
from .http import read_bounded

VIEW_BYTES = 256 << 10
"""So much of a file is shown."""
SILENCE_SECONDS = 30.0
NAME_CHARACTERS = 150
TRIES = 1_000
_NOT_IN_A_NAME = re.compile(r"[^\w.,()+= -]")


async def read_text(api: Api, job_id: str, one: Artifact) -> str:
    """Read the first ``VIEW_BYTES`` of a file as safe text. Raises what ``errors`` lists."""
    if not one.size_bytes:
        return ""
    part = {"Range": f"bytes=0-{VIEW_BYTES - 1}"}
    async with api.http.stream(_path(job_id, one), headers=part, read_seconds=SILENCE_SECONDS) as response:
        beginning = await read_bounded(response, 2 * VIEW_BYTES)
    return block(beginning[:VIEW_BYTES].decode("utf-8", "replace"), VIEW_BYTES)


async def save(api: Api, job_id: str, one: Artifact, into: Path) -> Path:
    """Save a file, for its owner's eyes only: ``into`` itself, or in that directory under a name that is free.

    Raises:
        NotSaved: there is such a file already, it could not be written, or other bytes came than were announced.
    """
    descriptor, path = _create(into, one)
    try:
        with os.fdopen(descriptor, "wb") as file:
            async for chunk in _verified(api, job_id, one):
                file.write(chunk)
    except BaseException as error:
        with suppress(OSError):
            path.unlink()
        if isinstance(error, OSError):
            raise _not_written(path, error) from error
        raise
    return path


async def _verified(api: Api, job_id: str, one: Artifact) -> AsyncIterator[bytes]:
    digest, came = hashlib.sha256(), 0
    plain = {"Accept-Encoding": "identity"}
    async with api.http.stream(_path(job_id, one), headers=plain, read_seconds=SILENCE_SECONDS) as response:
        async for chunk in response.aiter_raw():
            digest.update(chunk)
            came += len(chunk)
            if came > one.size_bytes:
                break
            yield chunk
    if (came, digest.hexdigest()) != (one.size_bytes, one.sha256):
        raise NotSaved(f"Other bytes came than the record of {one.filename} announces; nothing was saved.")


def _path(job_id: str, one: Artifact) -> str:
    job, file = quote(job_id, safe=""), quote(one.artifact_id, safe="")
    return f"{JOBS}/job/{job}/artifacts/{file}/content"


def _create(into: Path, one: Artifact) -> tuple[int, Path]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    is_directory = into.is_dir()
    for path in _free_names(into, one) if is_directory else [into]:
        try:
            return os.open(path, flags, 0o600), path
        except FileExistsError:
            continue
        except OSError as error:
            raise _not_written(path, error) from error
    raise NotSaved(
        f"{one_line(str(into), NOTE_LIMIT)} is there already and was left alone; nothing was saved."
    )


def _free_names(directory: Path, one: Artifact) -> Iterator[Path]:
    """The file's own name, then numbered ones; the server's word for it is never trusted as a path."""
    name = _NOT_IN_A_NAME.sub("_", one.filename).lstrip(".- ")[-NAME_CHARACTERS:].rstrip(". ")
    stem, dot, suffix = (name or "artifact").rpartition(".")
    stem, suffix = (stem, dot + suffix) if stem else (suffix, "")
    yield directory / f"{stem}{suffix}"
    for number in count(2):
        if number > TRIES:
            return
        yield directory / f"{stem}-{number}{suffix}"


def _not_written(path: Path, error: OSError) -> NotSaved:
    return NotSaved(
        f"{one_line(str(path), NOTE_LIMIT)} cannot be written ({error.strerror}); nothing was saved."
    )
