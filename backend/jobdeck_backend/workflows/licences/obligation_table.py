"""The obligations as a table for spreadsheets, in which no cell of somebody else's words can be a formula."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

COLUMNS = ("group", "code", "text", "clause", "clause_name", "line", "places", "quote")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def obligations_csv(obligations: Sequence[Mapping[str, Any]]) -> str:
    """A header and one row each, as RFC 4180 has it."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_MINIMAL)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(item[column]) for column in COLUMNS] for item in obligations)
    return text.getvalue()


def _cell(value: object) -> object:
    """An apostrophe before what a spreadsheet would compute: shown as text by all of them."""
    if not isinstance(value, str):
        return value
    text = " ".join(value.split())
    return f"'{text}" if text.startswith(_FORMULA) else text
