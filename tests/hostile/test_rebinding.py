"""A name that lies: what it resolves to is checked, and that very address is what is connected to."""

import asyncio
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
from jobdeck_backend.addresses import CheckedTransport, open_client
from jobdeck_backend.errors import AddressRefused
from webhook_listener import Listener, listening


class Names:
    """A resolver that gives these answers in turn, the last one again and again."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def post(names: Names, listener: Listener, *, allow_private: bool) -> httpx.Response:
    async def posting() -> httpx.Response:
        transport = CheckedTransport(allow_private=allow_private, resolve=names)
        async with httpx.AsyncClient(transport=transport) as client:
            url = f"http://hooks.example.org:{listener.port}/x"
            return await client.post(url, json={}, headers={"Idempotency-Key": "k"})

    return asyncio.run(posting())


def test_the_address_connected_to_is_the_one_that_was_looked_up_once():
    names = Names(["127.0.0.1"])
    with listening(200) as listener:
        answer = post(names, listener, allow_private=True)
        assert answer.status_code == 200
        assert names.asked == ["hooks.example.org"]
        assert listener.received[0]["host"] == f"hooks.example.org:{listener.port}"


@pytest.mark.parametrize(
    "answer", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"], ["169.254.169.254"], ["::1"]]
)
def test_a_public_name_with_a_private_address_gets_nothing(answer: list[str]):
    with listening(200) as listener:
        with pytest.raises(AddressRefused):
            post(Names(answer), listener, allow_private=False)
        assert listener.received == []


def test_no_connection_outlives_its_request_so_each_is_looked_up_anew():
    names = Names(["127.0.0.1"])
    connections = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while await reader.readline():  # a server that would go on
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        writer.close()

    async def posting() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://hooks.example.org:{server.sockets[0].getsockname()[1]}/"
        transport = CheckedTransport(allow_private=True, resolve=names)
        async with server, httpx.AsyncClient(transport=transport) as client:
            for _ in range(3):
                await client.get(url)

    asyncio.run(posting())
    assert len(names.asked) == len(connections) == 3


def test_a_dead_address_is_passed_over_for_the_next():
    with listening(200) as listener:
        answer = post(Names(["127.0.0.2", "127.0.0.1"]), listener, allow_private=True)
        assert answer.status_code == 200


def test_redirects_are_not_followed_and_proxies_not_asked(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    async def posting(url: str) -> httpx.Response:
        async with open_client(allow_private=True, timeout_s=5) as client:
            return await client.post(url, json={}, headers={"Idempotency-Key": "k"})

    with listening(307, 200) as listener:
        assert asyncio.run(posting(listener.url)).status_code == 307
        assert len(listener.received) == 1


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Key and certificate of ``hooks.example.org`` in one file."""
    path = tmp_path / "hooks.pem"
    name = "hooks.example.org"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-keyout", str(path), "-out", str(tmp_path / "certificate.pem"), "-days", "2"),
            *("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"),
        ],
        check=True,
        capture_output=True,
    )
    path.write_text(path.read_text() + (tmp_path / "certificate.pem").read_text())
    return path


def test_certificates_are_verified_against_the_name_not_the_address(certificate: Path):
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()
        writer.close()

    async def posting() -> tuple[int, str]:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=serving)
        port = server.sockets[0].getsockname()[1]
        transport = CheckedTransport(allow_private=True, resolve=Names(["127.0.0.1"]), verify=trusting)
        async with server, httpx.AsyncClient(transport=transport) as client:
            good = await client.get(f"https://hooks.example.org:{port}/")
            with pytest.raises(httpx.ConnectError) as refused:
                await client.get(f"https://other.example.org:{port}/")
        return good.status_code, str(refused.value)

    status, refusal = asyncio.run(posting())
    assert status == 204
    assert "other.example.org" in refusal
