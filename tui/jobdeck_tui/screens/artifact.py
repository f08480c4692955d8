"""One file of a job: its text, as far as it is text, and its way to the disk."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from jobdeck_tui.client.artifacts import Artifact
from jobdeck_tui.core.artifact_rows import about, shown_part
from jobdeck_tui.screens.base import DeckScreen
from jobdeck_tui.widgets.text_line import TextLine
from jobdeck_tui.widgets.text_pane import TextPane

if TYPE_CHECKING:
    from jobdeck_tui.app import DeckApp


SAID_SECONDS = 10.0


def save_artifact(program: "DeckApp", job_id: str, one: Artifact) -> None:
    """Begins saving a file into the working directory; where it went is said when it is there."""
    if one.removed_at is not None:
        program.tell(f"{one.filename} has expired: its bytes were removed.", severity="error")
        return
    program.tell(f"Saving {one.filename} …")

    program.link.artifacts.save(
        job_id,
        one,
        Path.cwd(),
        saved=lambda path: program.tell(f"Saved {path}, for your eyes only.", seconds=SAID_SECONDS),
        failed=lambda why: program.tell(why, severity="error", seconds=SAID_SECONDS),
    )


class ArtifactScreen(DeckScreen):
    """The screen of one file."""

    TITLE_WORDS = "Artifact"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "leave", "Back", key_display="esc"),
        Binding("s", "save", "Save"),
        Binding("j,down", "roll(1)", "Down", show=False),
        Binding("k,up", "roll(-1)", "Up", show=False),
        Binding("pagedown,space", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("g,home", "roll(-1000000)", "To the beginning", show=False),
        Binding("G,end", "roll(1000000)", "To the end", show=False),
    ]

    def __init__(self, job_id: str, artifact: Artifact) -> None:
        super().__init__()
        self._job_id = job_id
        self._artifact = artifact

    def compose_body(self) -> ComposeResult:
        """What is known of it, and its text."""
        yield TextLine(id="facts")
        yield TextPane(id="content")

    def on_mount(self) -> None:
        """Begins reading, where there is something to read."""
        one = self._artifact
        head, *_ = about(one)
        self.query_one("#facts", TextLine).show([*head, (f"  {one.mime_type}", "faint")])
        self.set_focus(self.query_one("#content"))
        if one.removed_at is not None:
            self._say("It has expired: its bytes were removed, this line is what is left.")
        elif not one.readable:
            self._say(f"{one.mime_type} is not shown as text; {self.deck.key('save')} saves it.")
        else:
            self._say("reading …")
            self.program.link.artifacts.read(self, self._job_id, one, taken=self._take, failed=self._say)

    def _take(self, text: str, bytes_shown: int) -> None:
        self.query_one("#content", TextPane).show(shown_part(self._artifact, text, bytes_shown))

    def _say(self, words: str) -> None:
        self.query_one("#content", TextPane).show([[(f" {words}", "faint")]])

    def action_save(self) -> None:
        """Saves the file into the working directory."""
        save_artifact(self.program, self._job_id, self._artifact)

    def action_roll(self, rows: int) -> None:
        """Scrolls the text."""
        self.query_one("#content", TextPane).scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        """Scrolls the text by pages."""
        pane = self.query_one("#content", TextPane)
        pane.scroll_rows(pages * max(1, pane.size.height - 1))

    def action_leave(self) -> None:
        """Back to the job."""
        self.program.pop_screen()
