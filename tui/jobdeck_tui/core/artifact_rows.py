"""A job's files as its screen shows them."""

from collections.abc import Sequence

from jobdeck_tui.client.artifacts import Artifact
from jobdeck_tui.text.format import age, clock, fit, size

Row = list[tuple[str, str]]

HASH_SHOWN = 12
NAME_CELLS = (16, 44)
NOTHING = "No file is on record: this job left none behind, or its workflow does not declare that it does."


def artifact_rows(artifacts: Sequence[Artifact], chosen: int, now: float, width: int) -> list[Row]:
    """One line a file, the chosen one marked, and below them what else is known of that one."""
    if not artifacts:
        return [[(f" {NOTHING}", "faint")]]
    name = max(NAME_CELLS[0], min(NAME_CELLS[1], width - 54))
    head = f"   {fit('NAME', name)} {fit('TYPE', 20)} {'SIZE':>5} {fit('SHA256', HASH_SHOWN)} {'AGE':>5}"
    rows: list[Row] = [[(head, "faint")]]
    for place, one in enumerate(artifacts):
        here = place == chosen
        words = f"{fit(one.filename, name)} {fit(one.mime_type, 20)} {size(one.size_bytes):>5}"
        more = f" {one.sha256[:HASH_SHOWN]} {age(now - one.created_at):>5}"
        rows.append([(" ▸ " if here else "   ", "strong"), (words, "strong" if here else ""), (more, "")])
        if one.removed_at is not None:
            rows[-1].append((" EXPIRED", "expired"))
    return [*rows, [], *about(artifacts[chosen])]


def about(one: Artifact) -> list[Row]:
    """What is known of one file beside its line."""
    rows: list[Row] = [[(f" {one.filename}", "strong"), (f"  {one.title}" if one.title else "", "")]]
    if one.caption:
        rows.append([(f" {one.caption}", "")])
    rows.append([(f" {one.kind}, kept {clock(one.created_at)} by attempt {one.attempt}", "")])
    rows.append([(f" sha256 {one.sha256}", "faint")])
    if one.removed_at is not None:
        gone = f" expired: its bytes were removed {clock(one.removed_at)}, its time being over"
        rows.append([(gone, "notice")])
    return rows


def shown_part(one: Artifact, text: str, bytes_shown: int) -> list[Row]:
    """A file's text as rows, and first what is missing of it."""
    rows: list[Row] = []
    if one.size_bytes > bytes_shown:
        rows.append(
            [(f" only the first {size(bytes_shown)} of {size(one.size_bytes)}; saved it is whole", "notice")]
        )
    elif not text:
        rows.append([(" The file is empty.", "faint")])
    return [*rows, *([(line, "")] for line in text.split("\n"))]
