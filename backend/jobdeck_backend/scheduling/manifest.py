"""What an execution says of its files: the manifest it writes beside them, and what its code declares."""

import os
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from jobdeck_backend.scheduling.sandbox import FileRefused, open_beneath

NAME = "manifest.json"
BYTES_MAX = 1 << 20
WORDS_MAX = 2_000


class Declared(BaseModel):
    """One file's entry: ``path`` below the directory, and what its author says of it."""

    path: str = Field(min_length=1, max_length=4_096)
    kind: Literal["image", "table", "dataset", "notebook", "document", "text", "archive", "other"] | None = (
        None
    )
    title: str | None = Field(default=None, max_length=WORDS_MAX)
    caption: str | None = Field(default=None, max_length=WORDS_MAX)
    inline: bool = False
    media_type: str | None = Field(default=None, max_length=128)


class _Manifest(BaseModel):
    version: Literal[1]
    artifacts: list[Declared] = Field(max_length=1_000)


def read_manifest(root: int) -> list[Declared]:
    """The manifest's entries, none where there is no manifest. Raises ``FileRefused`` when it cannot be used."""
    try:
        with open_beneath(root, NAME) as (descriptor, status):
            if status.st_size > BYTES_MAX:
                raise FileRefused(f"a manifest may have at most {BYTES_MAX:,} bytes; it is ignored", NAME)
            text = os.read(descriptor, BYTES_MAX)
    except FileNotFoundError:
        return []
    except FileRefused as refused:
        raise FileRefused(refused.reason, NAME) from None
    try:
        return _Manifest.model_validate_json(text).artifacts
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, problem["loc"])) or "the whole"
        raise FileRefused(f"it is no manifest ({where}: {problem['msg']}); it is ignored", NAME) from None


def below(directory: Path, path: str | Path) -> str:
    """A path as the author gave it, relative to the directory where it is below; else as it is, to be refused."""
    pure = PurePosixPath(path)
    return str(pure.relative_to(directory) if pure.is_relative_to(directory) else pure)
