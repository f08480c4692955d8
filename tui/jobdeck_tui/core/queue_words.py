"""The queues in one line, those in trouble first."""

from collections.abc import Sequence

from jobdeck_tui.client.models import Queue
from jobdeck_tui.text.format import age, cells, number, state_glyph

Piece = tuple[str, str]
DEPTHS = ("running", "queued", "waiting", "backlog", "held")


def queue_strip(queues: Sequence[Queue], width: int) -> list[Piece]:
    """As many queues as ``width`` cells have room for, and how many more there are."""
    pieces: list[Piece] = [(" queues", "strong")]
    free = width - cells(pieces[0][0])
    ordered = sorted(queues, key=lambda queue: (-queue.at_risk, not queue.paused, -sum(queue.depth.values())))
    for place, queue in enumerate(ordered):
        shown = _queue(queue)
        taken = sum(cells(text) for text, _ in shown)
        if taken + len("  +99") > free:
            return [*pieces, (f"  +{len(ordered) - place}", "faint")]
        free -= taken
        pieces += shown
    return pieces


def _queue(queue: Queue) -> list[Piece]:
    depth = {**queue.depth, "running": queue.depth.get("running", 0) + queue.depth.get("assigned", 0)}
    counts = [f"{state_glyph(state)}{number(depth[state])}" for state in DEPTHS if depth.get(state)]
    pieces: list[Piece] = [(f"   {queue.name} {' '.join(counts) or 'empty'}", "")]
    if queue.paused:
        pieces.append((" ⏸ PAUSED", "warn"))
    if queue.at_risk:
        pieces.append((f" {number(queue.at_risk)} at risk", "soon"))
    if queue.oldest_age is not None:
        pieces.append((f" oldest {age(queue.oldest_age)}", "faint"))
    return pieces
