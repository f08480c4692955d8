"""Callers of a server that asks who they are, and their tokens."""

import time
from typing import Any

import httpx
import jwt
from running_backend import JOBS, RunningBackend

SECRET = "s" * 40
DAY_S = 86_400


def token(
    subject: str = "alice", *roles: str, key: Any = SECRET, algorithm: str = "HS256", **claims: Any
) -> str:
    usual = {"iss": "jobdeck", "aud": "jobdeck", "sub": subject, "roles": list(roles)}
    return jwt.encode({**usual, "exp": time.time() + DAY_S, **claims}, key, algorithm)


def bearer(subject: str = "alice", *roles: str, **claims: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {token(subject, *roles, **claims)}"}


def submit(backend: RunningBackend, who: dict[str, str], **body: Any) -> httpx.Response:
    return backend.http.post(
        f"{JOBS}/submit", json={"agent_type": "probe", "input": "{}", **body}, headers=who
    )
