"""Which kind of file an export should be: one key, and what would be written is said before."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from jobdeck_tui.core.records import KINDS, Records
from jobdeck_tui.text.format import number, plural
from jobdeck_tui.widgets.dialog_box import DialogBox
from jobdeck_tui.widgets.text_line import Piece, TextLine

MEANS = {
    "csv": "for a spreadsheet; what it would run as a formula is quoted",
    "json": "one list",
    "ndjson": "one object a line",
}


class ExportDialog(ModalScreen[str | None]):
    """Answers with a kind of file, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"choose('{kind}')", kind.upper()) for key, kind in KINDS.items()),
        Binding("escape,q", "keep", "Back", key_display="esc"),
    ]

    def __init__(self, records: Records, directory: str) -> None:
        super().__init__()
        self._records = records
        self._directory = directory

    def compose(self) -> ComposeResult:
        """What, and as what."""
        with DialogBox():
            yield TextLine(id="asked")

    def on_mount(self) -> None:
        """Writes the choices."""
        count = plural(len(self._records.rows), "row")
        lines: list[Piece] = [(f"Export {count} of {self._records.what}\n", "strong")]
        if self._records.matching is not None:
            lines.append(
                (f"the rows that are here, not all {number(self._records.matching)} that match\n", "warn")
            )
        lines.append((f"to a new file in {self._directory}, readable by you alone\n\n", ""))
        for key, kind in KINDS.items():
            lines += [(f"  {key}", "strong"), (f"  {kind.upper():<7} {MEANS[kind]}\n", "")]
        lines += [(" esc ", "reverse"), (" back", "strong")]
        self.query_one("#asked", TextLine).show(lines)

    def action_choose(self, kind: str) -> None:
        """Chooses a kind."""
        self.dismiss(kind)

    def action_keep(self) -> None:
        """Writes nothing."""
        self.dismiss(None)
