"""Takes every snapshot anew: ``make snapshots``."""

import asyncio
import sys

from . import HERE, SIZES, Taken, of_size, of_states


async def take_all() -> Taken:
    """Every snapshot, by the name of its file."""
    taken = await of_states()
    for size in SIZES:
        taken |= await of_size(size)
    return taken


def main() -> None:
    """Writes them, and removes those that nothing takes any more."""
    taken = asyncio.run(take_all())
    for path in HERE.glob("*/*.txt"):
        if path.relative_to(HERE).as_posix() not in taken:
            path.unlink()
    changed = 0
    for name, text in taken.items():
        path = HERE / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed += 1
    sys.stdout.write(f"{len(taken)} snapshots, {changed} of them changed\n")


if __name__ == "__main__":
    main()
