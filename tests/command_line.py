"""The command line within the test's own process: its words and its exit code without the cost of a start."""

import contextlib
import io
import os
import sys
from unittest.mock import patch

from jobdeck_tui.cli import run
from jobdeck_tui.text.sanitise import is_safe

PROGRAM = (sys.executable, "-c", "from jobdeck_tui.cli import main; main()")
"""The command line as a process, where one is what is promised."""


def environment(**more: str) -> dict[str, str]:
    """This process's environment without what is said to jobdeck in it, and ``more``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JOBDECK_")}
    return kept | {"PYTHONIOENCODING": "utf-8"} | more


def ran(*arguments: str, stdin: str = "", **variables: str) -> tuple[int, str, str]:
    """Run a command as one without a terminal; give its exit code, its standard output and standard error."""
    out, error = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment(**variables), clear=True),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        code = run(list(arguments))
    return code, out.getvalue(), error.getvalue()


def jobdeck(*arguments: str, code: int = 0, stdin: str = "", **variables: str) -> tuple[str, str]:
    """Run a command that ends with ``code`` and writes what is safe for a terminal; give what it wrote."""
    ended, said, complained = ran(*arguments, stdin=stdin, **variables)
    assert is_safe(said, lines=True), said
    assert is_safe(complained, lines=True), complained
    assert ended == code, (said, complained)
    return said, complained
