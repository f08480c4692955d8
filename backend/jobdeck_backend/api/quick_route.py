"""Routes that are asked thousands of times a second.

FastAPI documents them as it does others, but the way through its dependencies costs more than the work itself. A
usual request does not take it; whatever is unusual about one does, so that nothing is answered differently.
"""

from typing import Any, get_type_hints

from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.types import Message, Receive, Scope, Send

JSON = (b"content-type", b"application/json")


class QuickRoute(APIRoute):
    """Its endpoint is a coroutine that takes texts of its path, perhaps a body of JSON, and ``serving``."""

    def __init__(self, path: str, endpoint: Any, **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        kinds = get_type_hints(endpoint).items()
        models = [
            (name, kind) for name, kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)
        ]
        self._body = models[0] if models else None

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        given: dict[str, Any] | None = None
        if scope["method"] in (self.methods or ()):
            given, receive = await self._given(scope, receive)
        if given is None:
            await super().handle(scope, receive, send)
            return
        response = await self.endpoint(**given, serving=scope["app"].state.services)
        await response(scope, receive, send)

    async def _given(self, scope: Scope, receive: Receive) -> tuple[dict[str, Any] | None, Receive]:
        """What a usual request gives the endpoint, None of another; and from where the request is received now."""
        given = dict(scope["path_params"])
        if self._body is None:
            return given, receive
        if JSON not in scope["headers"]:
            return None, receive
        name, model = self._body
        first = await receive()
        again = _first_again(first, receive)
        if first["type"] != "http.request" or first.get("more_body"):
            return None, again
        try:
            given[name] = model.model_validate_json(first["body"])
        except ValidationError:
            return None, again
        return given, receive


def _first_again(first: Message, receive: Receive) -> Receive:
    messages = [first]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again
