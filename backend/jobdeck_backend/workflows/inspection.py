"""``python -m jobdeck_backend.workflows.inspection``: what each of the users' workflows is, or its trouble.

A process of its own, and in it one for each workflow: whatever an author's code does when it is imported (raise,
exit, hang, crash) is told of that workflow alone, and never happens in the server.
"""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

from jobdeck_backend.settings import Settings
from jobdeck_backend.workflows.authored_input import state_of
from jobdeck_backend.workflows.registry import Workflow, find
from jobdeck_backend.workflows.sources import Broken, Source, read_sources

WITHIN_S = 30.0


def inspect_workflows(settings: Settings) -> tuple[list[Workflow], list[Broken]]:
    """The users' workflows, ready to be listed and checked. Takes a second or two where there are any."""
    sources, broken = read_sources(settings)
    clashing = [one for one in sources if find(one.name) is not None]
    broken += [Broken(one.name, one.origin, "a built-in workflow has that name") for one in clashing]
    sources = [one for one in sources if one not in clashing]
    told = _ask() if sources else {}
    workflows = []
    for source in sources:
        about = told.get(source.name, {"problem": "it could not be inspected; the log says why"})
        if "problem" in about:
            broken.append(Broken(source.name, source.origin, about["problem"]))
        else:
            workflows.append(_workflow(source, about))
    return workflows, broken


def _ask() -> Mapping[str, Any]:
    command = [sys.executable, "-m", "jobdeck_backend.workflows.inspection"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        return {}


def _workflow(source: Source, about: Mapping[str, Any]) -> Workflow:
    schema = about["input_schema"]

    def check(text: str) -> None:
        state_of(schema, text)

    return Workflow(
        name=source.name,
        description=source.description or about["description"],
        module="",
        stages=tuple(about["stages"]),
        check_input=check,
        count_stages=None if about["linear"] else lambda _text: None,
        input_schema=schema,
        output_schema=about["output_schema"],
        artifacts=source.artifacts,
        source=source,
    )


async def _describe(source: Source) -> dict[str, Any]:
    from jobdeck_backend.workflows import schemas
    from jobdeck_backend.workflows.authored import build, compiled

    graph = compiled(await build(source))
    drawn = graph.get_graph()
    return {
        "description": str(graph.get_name() or source.name),
        "stages": [name for name in graph.nodes if not name.startswith("__")],
        "linear": not any(edge.conditional for edge in drawn.edges),
        "input_schema": schemas.input_schema(graph),
        "output_schema": schemas.output_schema(graph),
    }


def _describe_apart(source: Source) -> dict[str, Any]:
    """In a process of its own; answers within ``WITHIN_S`` seconds."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _answer(source, writing)
    os.close(writing)
    answer = b""
    try:
        # To the line's end, not the pipe's: a process that the author's code began may keep that open.
        while not answer.endswith(b"\n") and select.select([reading], [], [], WITHIN_S)[0]:
            if not (piece := os.read(reading, 1 << 16)):
                break
            answer += piece
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if answer.endswith(b"\n"):
        return dict(json.loads(answer))
    what = (
        f"did not end within {WITHIN_S:.0f} s" if code == -signal.SIGKILL else f"ended the process ({code})"
    )
    return {"problem": f"importing it {what}"}


def _answer(source: Source, writing: int) -> NoReturn:
    """The forked process's part; whatever it begins is of its process group, and ends with it."""
    try:
        os.setpgid(0, 0)
        try:
            told = asyncio.run(_describe(source))
        except BaseException as error:  # an author's exit, too
            told = {"problem": f"{type(error).__name__}: {error}"[:1000]}
        os.write(writing, json.dumps(told, default=str).encode() + b"\n")
    finally:
        os._exit(0)


def main() -> None:
    """Print what is to be told of each workflow, as JSON by name."""
    from jobdeck_backend.workflows import authored as _imported_once  # noqa: F401

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what authors' code prints is no answer
    sources, _broken = read_sources(Settings())
    with answers:
        json.dump({source.name: _describe_apart(source) for source in sources}, answers)


if __name__ == "__main__":
    main()
