"""What stands around the whole app: the headers of every answer, and the checks of every request's head. Plain ASGI."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from worker.serving.request_checks import check_head, check_host
from worker.serving.responses import HEADERS_OF_ALL, HttpError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


def with_headers_of_all(app: App) -> App:
    """Return the app with `HEADERS_OF_ALL` on every answer that does not set them itself, one that says what failed included."""
    defaults = [(name.lower().encode("ascii"), content.encode("ascii")) for name, content in HEADERS_OF_ALL]

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message["headers"])
                names = {name.lower() for name, _ in given}
                message = {**message, "headers": given + [header for header in defaults if header[0] not in names]}
            await send(message)

        await app(scope, receive, send_with_headers)

    return answer


def with_head_checks(app: App, *, checks_host: bool) -> App:
    """Return the app for requests with a head that is not too long and, if it `checks_host`, a `Host` of ours; others are refused."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        try:
            check_head(scope["raw_path"], scope["query_string"], scope["headers"])
            if checks_host:
                check_host(next((content.decode("latin-1") for name, content in scope["headers"] if name == b"host"), None))
        except HttpError as refused:
            length = str(len(refused.body)).encode("ascii")
            headers = [(b"content-type", b"application/json"), (b"content-length", length)]
            await send({"type": "http.response.start", "status": refused.status, "headers": headers})
            await send({"type": "http.response.body", "body": refused.body})
        else:
            await app(scope, receive, send)

    return answer
