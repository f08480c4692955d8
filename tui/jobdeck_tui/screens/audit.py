"""Audit: every act of everybody, newest first, refused ones too, as the server recorded them."""

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType

from jobdeck_tui.client.models import AuditRow
from jobdeck_tui.core.columns import Column
from jobdeck_tui.core.reading import Reading
from jobdeck_tui.screens.table import TABLE_BINDINGS, TableScreen
from jobdeck_tui.text.format import NONE, instant, plural, short_id
from jobdeck_tui.widgets.text_line import Piece
from jobdeck_tui.widgets.virtual_table import Cell

REFUSED = "refused:"
ID_CELLS, WIDE_ID_CELLS, WIDE_FROM_COLUMNS = 12, 24, 110
WIDE_ACT_FROM_COLUMNS = 140


class AuditScreen(TableScreen):
    """A line for each act; ``L`` shows those of this session and what became of them."""

    TITLE_WORDS = "Audit"
    TIMES = ("at",)
    FILTER = "audit"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open the job", key_display="enter"),
        Binding("f", "refused", "Only refused / all"),
        Binding("L", "app.my_acts", "My acts"),
        *TABLE_BINDINGS,
    ]
    COLUMNS = (
        Column("at", "WHEN", 9),
        Column("actor", "WHO", 9, 60),
        Column("act", "ACT", 14, to_width=WIDE_ACT_FROM_COLUMNS - 1),
        Column("act", "ACT", 20, WIDE_ACT_FROM_COLUMNS),
        Column("job", "JOB", ID_CELLS, to_width=WIDE_FROM_COLUMNS - 1),
        Column("job", "JOB", WIDE_ID_CELLS, WIDE_FROM_COLUMNS),
        Column("note", "RESULT", 0, 50),
    )

    def __init__(self) -> None:
        super().__init__()
        self._only_refused = False

    def read(self) -> None:
        """Asks for the newest acts."""
        self.program.link.operations.read_audit(self)

    @property
    def reading(self) -> Reading[AuditRow]:
        """The newest acts."""
        return self.deck.audit

    def head(self) -> list[Piece]:
        """How many acts are shown, and which."""
        kind = " refused" if self._only_refused else ""
        return [
            (f" {plural(len(self.rows()), 'act')}{kind}, newest first", "strong"),
            ("  older ones: jobdeck audit", "faint"),
        ]

    def rows(self) -> Mapping[str, AuditRow]:
        """Newest first."""
        acts = self.deck.audit.items or ()
        return {str(act.id): act for act in acts if not self._only_refused or act.result.startswith(REFUSED)}

    def cell(self, row_id: str, key: str) -> Cell:
        """One fact of an act."""
        act = self._act(row_id)
        if act is None:
            return Cell("")
        match key:
            case "at":
                return Cell(self.deck.time_words(act.at), "faint")
            case "actor":
                return Cell(act.actor)
            case "act":
                return Cell(act.act, "strong")
            case "job":
                room = WIDE_ID_CELLS if self.size.width >= WIDE_FROM_COLUMNS else ID_CELLS
                return Cell(short_id(act.job_id, room) if act.job_id else NONE)
            case _:
                why = f"  ({act.reason})" if act.reason else ""
                return Cell(f"{act.result}{why}", "bad" if act.result.startswith(REFUSED) else "")

    def detail(self, row_id: str | None) -> list[Piece]:
        """What came of the act, and why it was done."""
        act = self._act(row_id)
        if act is None:
            return []
        seen = f" {act.job_id}" if act.job_id is not None else ""
        seen += f" at version {act.version}" if act.version is not None else ""
        why = f"  reason: {act.reason}" if act.reason else "  no reason given"
        return [(f" {instant(act.at)} {act.actor} {act.act}{seen}: {act.result}", ""), (why, "faint")]

    def _act(self, row_id: str | None) -> AuditRow | None:
        return next((act for act in self.deck.audit.items or () if str(act.id) == row_id), None)

    def hides(self, binding: Binding) -> bool:
        """Only an act on a job has a job to open."""
        act = self._act(self.table.cursor_id)
        return binding.action == "open" and (act is None or act.job_id is None)

    def action_refused(self) -> None:
        """Shows only refused acts, or all again."""
        self._only_refused = not self._only_refused
        self.flush()

    def action_open(self) -> None:
        """Opens the job that was acted on."""
        act = self._act(self.table.cursor_id)
        if act is not None and act.job_id is not None:
            self.program.open_job(act.job_id, "record")
