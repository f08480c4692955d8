"""One execution's files, made durable: looked at, stored, put on record with its fence (R31).

Each candidate in the order of the contract: confined, extension, count, size before reading, quota, what its bytes
are, digest. A refusal is an event; the file itself is left alone.
"""

import codecs
import json
import os
from collections.abc import Iterator
from pathlib import Path
from threading import RLock
from typing import Any

from pydantic import ValidationError

from jobdeck_backend.clock import now
from jobdeck_backend.commands import artifacts as commands
from jobdeck_backend.commands.artifacts import Refusal
from jobdeck_backend.jobs.artifacts import (
    HEAD_BYTES,
    Artifact,
    FileType,
    artifact_id,
    lie,
    safe_filename,
    sandbox_name,
    type_of,
)
from jobdeck_backend.jobs.records import Claim
from jobdeck_backend.scheduling import manifest
from jobdeck_backend.scheduling.manifest import Declared
from jobdeck_backend.scheduling.recorder import ExecutionRecorder
from jobdeck_backend.scheduling.sandbox import FileRefused, Sandbox, open_beneath, walk
from jobdeck_backend.scheduling.slot import Slot
from jobdeck_backend.store import artifacts
from jobdeck_backend.store.artifact_files import CHUNK_BYTES, ArtifactFiles
from jobdeck_backend.workflows.plain import storable

REFUSALS_MAX = 1_000
"""Told of by one execution; a directory full of rubbish must not fill the log."""


class ExecutionArtifacts:
    """The ``Artifacts`` of one claim. Used from the slot's loop and from threads of sync nodes."""

    def __init__(self, slot: Slot, claim: Claim, recorder: ExecutionRecorder) -> None:
        self._slot = slot
        self._claim = claim
        self._recorder = recorder
        self._settings = slot.settings
        self._files = ArtifactFiles(slot.settings.artifact_root)
        self._sandbox = Sandbox(slot.settings.sandboxes_path / sandbox_name(claim.job_id, claim.attempt))
        self._lock = RLock()
        self._declared: dict[str, Declared] = {}
        self._seen: set[tuple[str, int, int, int, int]] = set()
        self._told: set[Refusal] = set()
        self._kept: dict[str, Artifact] | None = None
        """By digest: what the job has on record, read at the first look."""

    @property
    def directory(self) -> Path:
        """Where the execution's files go; made, and empty, when it is first asked for."""
        with self._lock:
            self._sandbox.make()
            return self._sandbox.path

    def add(self, path: str | Path, **words: Any) -> None:
        """Declare a file. Raises ``ValueError`` when what is said of it cannot be used."""
        relative = manifest.below(self.directory, path)
        try:
            declared = Declared(path=relative, **words)
        except ValidationError as error:
            raise ValueError(f"artifact {relative}: {error.errors()[0]['msg']}") from None
        with self._lock:
            self._declared[relative] = declared

    def keep_text(self, path: str, text: str, *, title: str) -> str:
        """Write a text to a file in the directory and declare it; answers its path. Raises ``JobStopped``.

        One that begins as no file of text may, a page for example, is written as JSON.
        """
        if lie(text[:HEAD_BYTES].encode(), _promised(path, None)):
            path, text = f"{path}.json", json.dumps(text)
        file = self.directory / path
        try:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            with self._lock:
                self._publish([], [Refusal(path, f"it could not be written ({error.strerror})")])
        else:
            self.add(path, title=storable(title)[: manifest.WORDS_MAX])
        return path

    def checkpoint(self, *, everything: bool) -> None:
        """Keep what was declared, or everything that is there. What was kept already is left alone.

        Raises ``JobStopped`` when the job is no longer this execution's.
        """
        with self._lock:
            if self._sandbox.made:
                self._look(everything=everything, final=False)

    def finish(self) -> None:
        """The last look, before the job's end is on record; twice is the same as once. Raises ``JobStopped``."""
        with self._lock:
            if self._sandbox.made:
                self._look(everything=True, final=True)

    def remove(self) -> None:
        """The execution is over: its directory goes."""
        with self._lock:
            self._sandbox.remove()

    # One look.

    def _look(self, *, everything: bool, final: bool) -> None:
        found: list[Artifact] = []
        refused: list[FileRefused] = []
        try:
            with self._sandbox.opened() as root:
                declared = self._all_declared(root, refused)
                for path in self._candidates(root, declared, refused, everything=everything):
                    artifact = self._try(root, path, declared.get(path), refused, final=final)
                    if artifact is not None:
                        found.append(artifact)
        except FileRefused as gone:
            refused.append(gone)
        except OSError as error:
            refused.append(FileRefused(f"the directory cannot be read ({error.strerror})", "."))
        self._publish(found, [Refusal(storable(one.path or "."), one.reason) for one in refused])

    def _all_declared(self, root: int, refused: list[FileRefused]) -> dict[str, Declared]:
        """By path: the manifest's entries, and over them what the code declared."""
        try:
            entries = manifest.read_manifest(root)
        except FileRefused as unusable:
            refused.append(unusable)
            entries = []
        return {one.path: one for one in entries} | self._declared

    def _candidates(
        self, root: int, declared: dict[str, Declared], refused: list[FileRefused], *, everything: bool
    ) -> list[str]:
        paths = dict.fromkeys(declared)
        if everything:
            for one in walk(root):
                if isinstance(one, FileRefused):
                    refused.append(one)
                elif one != manifest.NAME:
                    paths[one] = None
        return list(paths)

    def _try(
        self, root: int, path: str, words: Declared | None, refused: list[FileRefused], *, final: bool
    ) -> Artifact | None:
        try:
            return self._keep(root, path, words)
        except FileNotFoundError:
            if final:
                refused.append(FileRefused("it was declared and is not there", path))
        except FileRefused as refusal:
            refused.append(FileRefused(refusal.reason, path))
        except OSError as error:
            refused.append(FileRefused(f"it could not be stored ({error.strerror})", path))
        return None

    def _keep(self, root: int, path: str, words: Declared | None) -> Artifact | None:
        """Store one file's bytes; None where there is nothing new. Raises ``FileRefused``, ``OSError``."""
        with open_beneath(root, path) as (descriptor, status):
            mark = (path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            if mark in self._seen:
                return None
            self._seen.add(mark)
            promised = _promised(path, words)
            self._check_room(status.st_size)
            try:
                sha256 = self._files.store(self._checked(descriptor, status, promised))
            except OSError:
                self._seen.discard(mark)  # the disk may have room again at the next look
                raise
        twin = self._on_record().get(sha256)
        if twin is not None and twin.removed_at is None:
            if twin.filename != safe_filename(path):
                raise FileRefused(f"it has the same bytes as {twin.filename}, which is kept")
            return None
        artifact = self._artifact(
            path, sha256, status.st_size, promised, words or Declared(path=storable(path))
        )
        self._on_record()[sha256] = artifact
        return artifact

    def _artifact(self, path: str, sha256: str, size: int, promised: FileType, words: Declared) -> Artifact:
        return Artifact(
            artifact_id=artifact_id(self._claim.job_id, sha256),
            job_id=self._claim.job_id,
            sha256=sha256,
            filename=safe_filename(storable(path)),
            file_path=storable(path),
            kind=words.kind or promised.kind,
            media_type=promised.media_type,
            size_bytes=size,
            title=words.title and storable(words.title),
            caption=words.caption and storable(words.caption),
            inline=words.inline,
            attempt=self._claim.attempt,
            fence=self._claim.fence,
            created_at=now(),
        )

    def _check_room(self, size: int) -> None:
        held = [one for one in self._on_record().values() if one.removed_at is None]
        if len(held) >= self._settings.artifact_files_max:
            raise FileRefused(f"a job may keep at most {self._settings.artifact_files_max:,} files")
        if size > self._settings.artifact_file_bytes_max:
            limit = self._settings.artifact_file_bytes_max
            raise FileRefused(f"it has {size:,} bytes, a file may have at most {limit:,}")
        if sum(one.size_bytes for one in held) + size > self._settings.artifact_job_bytes_max:
            limit = self._settings.artifact_job_bytes_max
            raise FileRefused(f"the job's files would have more than {limit:,} bytes")

    def _checked(self, descriptor: int, before: os.stat_result, promised: FileType) -> Iterator[bytes]:
        """The file's bytes as they are read, refused as soon as they are not what they should be."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        read = 0
        while chunk := os.read(descriptor, CHUNK_BYTES):
            self._recorder.refuse_if_stopped()
            if not read:
                _refuse_lie(chunk, promised)
            read += len(chunk)
            if read > before.st_size:
                break
            if promised.is_text:
                _decode(decoder, chunk, promised)
            yield chunk
        after = os.fstat(descriptor)
        if (after.st_size, after.st_mtime_ns, after.st_ctime_ns, read) != (
            before.st_size,
            before.st_mtime_ns,
            before.st_ctime_ns,
            before.st_size,
        ):
            raise FileRefused("it changed while it was read")
        if not read:
            _refuse_lie(b"", promised)
        if promised.is_text:
            _decode(decoder, b"", promised, final=True)

    def _on_record(self) -> dict[str, Artifact]:
        if self._kept is None:
            with self._slot.database.read() as tx:
                rows = artifacts.of_job(tx, self._claim.job_id)
            self._kept = {one.sha256: one for one in rows}
        return self._kept

    def _publish(self, found: list[Artifact], refused: list[Refusal]) -> None:
        new = [one for one in refused if one not in self._told][: REFUSALS_MAX - len(self._told)]
        self._told.update(new)
        if found or new:
            # What the stage said before its files is told before them.
            self._recorder.flush()
            with self._slot.lock, self._slot.connection.begin():
                commands.publish(self._slot.connection, self._claim, found, new, now())


def _promised(path: str, words: Declared | None) -> FileType:
    promised = type_of(path)
    if promised is None:
        raise FileRefused("files with such an extension are not kept")
    said = None if words is None else words.media_type
    if said is not None and said != promised.media_type:
        raise FileRefused(f"it was declared as {said}, by its name it is {promised.media_type}")
    return promised


def _refuse_lie(beginning: bytes, promised: FileType) -> None:
    if wrong := lie(beginning[:HEAD_BYTES], promised):
        raise FileRefused(wrong)


def _decode(
    decoder: codecs.IncrementalDecoder, chunk: bytes, promised: FileType, *, final: bool = False
) -> None:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        raise FileRefused(f"its bytes are not UTF-8 text, so not {promised.media_type}") from None
    if b"\x00" in chunk:
        raise FileRefused(f"it has NUL bytes, so it is not {promised.media_type}")
