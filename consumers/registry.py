"""The client of a Schema Registry: asks it over HTTP for one schema at a time.

It speaks the interface of Confluent's registry, which others offer too. Nothing is retried here: the caller
(`worker.indexing.schema_lookup`) knows whose fault a failure is by its exception. Redirects are not followed, because they could take the
password elsewhere.
"""

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

from consumers.registry_settings import RegistrySettings
from consumers.schema import FetchedSchema, SchemaKey

_NOT_FOUND: Final = frozenset({40401, 40402, 40403})
"""No such subject, version or schema. Any other 404 comes from something that is no registry."""
_TIMEOUT_S: Final = 5.0
_MOST_BYTES: Final = 8 * 1024 * 1024
_MOST_REFERENCES: Final = 500
_CHUNK_BYTES: Final = 64 * 1024
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"


class SchemaNotFound(Exception):
    """The registry answers that it does not have the schema."""


class RegistryAway(Exception):
    """The registry does not answer, or not as a registry does; one line. The same question may be answered later."""


class RegistryMisconfigured(ValueError):
    """A setting must be changed before the registry can be asked; one line."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class RegistryClient:
    """Has no state between two questions.

    Thread: any.
    """

    def __init__(self, settings: RegistrySettings, *, timeout_s: float = _TIMEOUT_S) -> None:
        """Connects to nothing yet. Raises RegistryMisconfigured."""
        self.address = settings.address
        """Where the registry is, without user and password."""
        self._timeout_s = timeout_s
        self._headers = {"Accept": _ACCEPT, "User-Agent": "vectail"}
        if settings.authorization:
            self._headers["Authorization"] = settings.authorization
        self._opener = _new_opener(settings)

    def fetch(self, key: SchemaKey) -> FetchedSchema:
        """Return a schema with all that it refers to. Raises SchemaNotFound or RegistryAway."""
        place = f"schemas/ids/{key}" if isinstance(key, int) else f"schemas/guids/{key}"
        answer = self._ask(place)
        kind = answer.get("schemaType") or "AVRO"
        query = ""
        if kind == "PROTOBUF":
            query = "format=serialized"
            answer = self._ask_descriptor(place)
        if kind not in ("AVRO", "PROTOBUF"):
            return FetchedSchema(str(kind), _text(answer))
        references: dict[str, str] = {}
        self._add_references(answer, query, references, frozenset())
        return FetchedSchema(kind, _text(answer), tuple(references.items()))

    def ping(self) -> None:
        """Ask for something that every registry has. Raises RegistryAway."""
        self._request("schemas/types")

    def _ask_descriptor(self, place: str) -> dict[str, object]:
        """Ask for a Protobuf schema as a descriptor.

        Karapace fails at this where the schema refers to others, but has it by subject and version (Aiven-Open/karapace#1263).
        """
        try:
            return self._ask(f"{place}?format=serialized")
        except RegistryAway:
            for subject, version in _versions(self._request(f"{place}/versions")):
                return self._ask(f"subjects/{quote(subject, safe='')}/versions/{version}?deleted=true&format=serialized")
            raise

    def _add_references(self, answer: Mapping[str, object], query: str, found: dict[str, str], above: frozenset[str]) -> None:
        """Add what a schema refers to, each after those that it refers to itself."""
        for name, subject, version in _references(answer):
            if name in found or name in above:
                continue
            if len(found) >= _MOST_REFERENCES or len(above) >= _MOST_REFERENCES:
                raise RegistryAway(f"a schema refers to more than {_MOST_REFERENCES} others")
            referred = self._ask(f"subjects/{quote(subject, safe='')}/versions/{version}?deleted=true" + (query and f"&{query}"))
            self._add_references(referred, query, found, above | {name})
            found[name] = _text(referred)

    def _ask(self, place: str) -> dict[str, object]:
        content = self._request(place)
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise RegistryAway("its answer is not a JSON object")
        return answer

    def _request(self, place: str) -> bytes:
        until_s = time.monotonic() + self._timeout_s
        request = Request(f"{self.address}/{place}", headers=self._headers)  # noqa: S310 - the settings allow http and https only
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                content = bytearray()
                while chunk := response.read1(_CHUNK_BYTES):
                    content += chunk
                    if len(content) > _MOST_BYTES:
                        raise RegistryAway(f"an answer has more than {_MOST_BYTES} bytes")
                    if time.monotonic() > until_s:
                        raise RegistryAway(f"no whole answer within {self._timeout_s:g} s")
                return bytes(content)
        except HTTPError as error:
            raise _failure(error) from None
        except URLError as error:
            raise RegistryAway(_line(error.reason)) from None
        except (OSError, HTTPException, ValueError) as error:
            raise RegistryAway(_line(error)) from None


def _new_opener(settings: RegistrySettings) -> OpenerDirector:
    try:
        context = ssl.create_default_context(cafile=None if settings.ca_file is None else str(settings.ca_file))
        if settings.cert_file is not None:
            context.load_cert_chain(settings.cert_file, settings.key_file)
    except OSError as error:  # an SSLError is one
        files = ", ".join(str(file) for file in (settings.ca_file, settings.cert_file, settings.key_file) if file is not None)
        raise RegistryMisconfigured(f"certificates of the Schema Registry ({files}): {_line(error)}") from None
    # The environment's proxies do not apply: what a worker does is in its settings.
    return build_opener(ProxyHandler({}), HTTPSHandler(context=context), _NoRedirects())


def _failure(error: HTTPError) -> SchemaNotFound | RegistryAway:
    """Return an answer that is an error as one of ours."""
    with error:
        try:
            answer = json.loads(error.read(_CHUNK_BYTES))
        except (OSError, HTTPException, ValueError, RecursionError):
            answer = None
    code = answer.get("error_code") if isinstance(answer, dict) else None
    if error.code == 404 and code in _NOT_FOUND:  # noqa: PLR2004 - HTTP's
        return SchemaNotFound()
    what = "it answers"
    if 300 <= error.code < 400:  # noqa: PLR2004 - HTTP's
        what = "it answers with a redirect, which is not followed:"
    return RegistryAway(f"{what} {error.code} {_line(error.reason)}" + (f", error {code}" if isinstance(code, int) else ""))


def _references(answer: Mapping[str, object]) -> Iterator[tuple[str, str, int]]:
    references = answer.get("references") or ()
    for one in references if isinstance(references, list | tuple) else (None,):
        match one:
            case {"name": str(name), "subject": str(subject), "version": int(version)} if _is_text(subject):
                yield name, subject, version
            case _:
                raise RegistryAway("it answers a reference without name, subject or version")


def _versions(content: bytes) -> Iterator[tuple[str, int]]:
    """Return the subjects and versions of a schema as the registry answers them; nothing if it is no such answer."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return
    for one in answer if isinstance(answer, list) else ():
        match one:
            case {"subject": str(subject), "version": int(version)} if _is_text(subject):
                yield subject, version
            case _:
                return


def _is_text(subject: str) -> bool:
    """Whether a name can be written in a URL: JSON may hold half of a surrogate pair."""
    return subject.isascii() or not any("\ud800" <= one <= "\udfff" for one in subject)


def _text(answer: Mapping[str, object]) -> str:
    text = answer.get("schema")
    if not isinstance(text, str):
        raise RegistryAway("it answers without a schema")
    return text


def _line(error: object) -> str:
    return " ".join(str(error).split()) or type(error).__name__
