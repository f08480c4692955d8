"""What a terminal shows after the bytes it was sent: as much of one as the deck's drawing needs."""

import re

from rich.cells import cell_len

_PIECE = re.compile(
    r"\x1b\[(?P<numbers>[\d;]*)(?P<move>[HJ])"
    r"|(?P<unseen>\x1b\[[?<>=]?[\d;$]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\))"
    r"|(?P<text>[^\x1b]+)|(?P<broken>\x1b)",
)


class DrawnTerminal:
    """Lines of text; styles are passed over. Anything the deck has no business sending fails."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], str] = {}
        self._row = self._column = 0

    def feed(self, drawn: str) -> None:
        """Takes what was sent, cut at the end of a write."""
        for piece in _PIECE.finditer(drawn):
            if piece["move"] == "H":
                row, _, column = piece["numbers"].partition(";")
                self._row, self._column = int(row or 1) - 1, int(column or 1) - 1
            elif piece["move"] == "J":
                self._cells.clear()
            elif piece["text"] is not None:
                self._write(piece["text"])
            assert piece["broken"] is None, drawn[piece.start() : piece.start() + 20]

    def _write(self, text: str) -> None:
        for character in text:
            if character == "\n":
                self._row += 1
            if character in "\r\n":
                self._column = 0
                continue
            self._cells[self._row, self._column] = character
            self._column += cell_len(character)

    def text(self, columns: int, rows: int) -> str:
        """The lines that fit a terminal of that size."""
        lines = (
            "".join(self._cells.get((row, column), " ") for column in range(columns)) for row in range(rows)
        )
        return "\n".join(line.rstrip() for line in lines)
