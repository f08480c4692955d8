"""One running instance a state directory: the lock that proves it and tells where the instance answers."""

import fcntl
import hashlib
import json
import os
import shutil
import socket
from pathlib import Path
from uuid import uuid4

from jobdeck_backend.errors import StartRefused


def _place() -> str:
    """Where a process id means one process: a boot of a kernel and a pid namespace, below the host's name.

    Containers and cloned machines share names, and each has a process 1.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespace = Path("/proc/self/ns/pid").readlink()
    return f"{socket.gethostname()}/{hashlib.sha256(f'{boot} {namespace}'.encode()).hexdigest()[:8]}"


PLACE = _place()
EXIT_IN_USE = 10
EXIT_NOT_WRITABLE = 12
FREE_BYTES_MIN = 1 << 20
"""Less room than this, and the database could not even be opened: its log needs some."""


def this_process() -> str:
    """This process, as leases and epochs name their owner."""
    return f"{PLACE}:{os.getpid()}"


def owner_is_gone(owner: str) -> bool:
    """Whether a former owner certainly ended: it was a process of this place that does not exist."""
    place, _, pid = owner.rpartition(":")
    if place != PLACE or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
        # One that ended and whose parent has not looked yet exists, and does nothing any more.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
    except OSError:
        return False


def backend_name(state_dir: Path) -> str:
    """What the backend of a state directory is called on record: the same at each start, and nobody else's.

    The directory has a number of its own: a path is found again in each container. Call it while holding the lock.
    """
    path = state_dir / "instance-id"
    try:
        if not path.exists():
            draft = path.with_suffix(".new")
            draft.write_text(uuid4().hex)
            draft.rename(path)
        return f"{socket.gethostname()}:{state_dir.resolve()}#{path.read_text()}"
    except OSError as error:
        reason = f"{path} cannot be read or written ({error.strerror})"
        raise StartRefused(reason, EXIT_NOT_WRITABLE) from None


def _holder(lock_file: int) -> str:
    """The instance that holds the lock, in words: it may not answer yet, or be just about to write who it is."""
    try:
        said = json.loads(os.pread(lock_file, 4096, 0))
        return f"pid {int(said['pid'])}, {said['url'] or 'starting'}"
    except (ValueError, KeyError, TypeError, OSError):
        return "starting"


class InstanceLock:
    """Held from start to end; the kernel lets go of it whatever way the process ends."""

    def __init__(self, state_dir: Path) -> None:
        """Take it. Raises ``StartRefused`` naming the holder, or when the directory cannot be written."""
        path = state_dir / "jobdeck.lock"
        try:
            state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            (state_dir / "logs").mkdir(exist_ok=True, mode=0o700)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StartRefused(
                f"the state directory {state_dir} cannot be written ({error.strerror}); "
                "name another with --state-dir",
                EXIT_NOT_WRITABLE,
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StartRefused(
                f"another backend runs on {state_dir} ({_holder(self._file)}); 'jobdeck' opens the deck on it; "
                "to start one beside it, name another --state-dir",
                EXIT_IN_USE,
            ) from None
        try:
            self.publish(None)
            free_bytes = shutil.disk_usage(state_dir).free
        except OSError:
            free_bytes = 0
        if free_bytes < FREE_BYTES_MIN:
            raise StartRefused(
                f"there is no room left to write in the state directory {state_dir}; "
                "make some, or name another with --state-dir",
                EXIT_NOT_WRITABLE,
            )

    def publish(self, url: str | None) -> None:
        """Say who runs here, and where it answers."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)
