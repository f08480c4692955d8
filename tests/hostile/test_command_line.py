"""R38: what a hostile server or job says reaches a terminal through the command line only as text."""

import asyncio
import json
import re
import threading

import pytest
from command_line import ran
from jobdeck_tui.text.sanitise import is_safe

from .corpus import HOSTILE
from .test_decode import ROW, TEXT_FIELDS


class HostileServer:
    """Answers every request with the same JSON, on a thread of its own."""

    def __init__(self, status, body):
        self._answer = self._response(status, json.dumps(body).encode())
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    @staticmethod
    def _response(status, content):
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        return head.encode() + b"Connection: close\r\n\r\n" + content

    async def _serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: (\d+)", head)
        await reader.readexactly(int(length[1]) if length else 0)
        writer.write(self._answer)
        await writer.drain()
        writer.close()

    def __enter__(self):
        self._thread.start()
        starting = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        )
        self._server = starting.result()
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def __exit__(self, *_error):
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_r38_a_hostile_job_is_listed_as_text(options):
    for text in HOSTILE:
        row = ROW | dict.fromkeys(TEXT_FIELDS, text)
        with HostileServer(200, {"jobs": [row], "total": 1, "matching": 1, "next": None}) as url:
            code, said, complained = ran("list", "--server", url, *options)
        assert (code, complained) == (0, ""), text[:80]
        assert said, text[:80]
        assert is_safe(said, lines=True), text[:80]


def test_r38_a_hostile_refusal_is_told_as_text():
    for text in HOSTILE:
        refusal = {"code": text, "message": text, "current": ROW | {"state": text}}
        with HostileServer(409, {"detail": refusal}) as url:
            code, said, complained = ran("submit", "probe", "{}", "--server", url)
        assert (code, said) == (4, ""), text[:80]
        assert is_safe(complained, lines=True), text[:80]


@pytest.mark.parametrize("answer", [[], {}, None, "text", {"job_id": 7, "why": []}])
@pytest.mark.parametrize(
    "command",
    [("show", "a-job-id"), ("submit", "probe", "{}"), ("cancel", "a-job-id")],
    ids=lambda one: one[0],
)
def test_an_answer_of_another_shape_is_one_sentence_and_exit_3(command, answer):
    with HostileServer(200, answer) as url:
        code, said, complained = ran(*command, "--server", url)
    assert (code, said) == (3, "")
    assert complained.startswith("jobdeck: The server's answer is not what a jobdeck server says (")
    assert complained.count("\n") == 1


def test_r36_a_server_that_broke_does_not_pass_for_one_that_changed_nothing():
    with HostileServer(500, {"detail": "oops"}) as url:
        code, _said, complained = ran("submit", "probe", "{}", "--server", url)
    assert code == 3
    assert "may or may not have been done" in complained
    assert "Nothing was changed" not in complained
