"""A job's files as the backend tells of them. As in ``models``, every string is sanitised here, once."""

import re
from typing import NamedTuple

from .fields import NOTE_LIMIT, Fields

_READABLE = re.compile(r"text/|application/(json|x-ipynb\+json)$")


class Artifact(NamedTuple):
    """A file that a job left behind; of one with ``removed_at`` only this is left."""

    artifact_id: str
    filename: str
    kind: str
    mime_type: str
    size_bytes: int
    sha256: str
    title: str | None
    caption: str | None
    attempt: int
    created_at: float
    removed_at: float | None

    @property
    def readable(self) -> bool:
        """Whether it can be shown as text."""
        return _READABLE.match(self.mime_type) is not None


def artifact(data: object) -> Artifact:
    """Read one file of a job."""
    row = Fields(data)
    return Artifact(
        artifact_id=row.text("artifact_id"),
        filename=row.text("filename"),
        kind=row.text("kind"),
        mime_type=row.text("mime_type"),
        size_bytes=row.integer("size_bytes"),
        sha256=row.text("sha256"),
        title=row.maybe_text("title", NOTE_LIMIT),
        caption=row.maybe_text("caption", NOTE_LIMIT),
        attempt=row.integer("attempt"),
        created_at=row.time("created_at"),
        removed_at=row.maybe_time("removed_at"),
    )
