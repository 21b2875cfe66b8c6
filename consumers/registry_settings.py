"""The `[registry]` table of the settings file: where the Schema Registry is, and how to authenticate there.

`worker.settings` reads it from file, environment and flags, and `consumers.registry` connects by it.
"""

from base64 import b64encode
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, SecretStr, field_validator


def _check_header(token: SecretStr) -> SecretStr:
    if not all("!" <= character <= "~" for character in token.get_secret_value()):
        raise ValueError("only printable ASCII without spaces can be sent as a bearer token")
    return token


BearerToken = Annotated[SecretStr, AfterValidator(_check_header)]
"""A token that can be sent in a header."""


class RegistrySettings(BaseModel):
    """The Schema Registry that has the schemas of Avro, Protobuf and JSON Schema values."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    url: str = ""
    """`https://HOST:PORT`, with a path if it has one. Empty: no registry; then a value that begins with byte 0 is text like any other, and
    no topic may have `format = "registry"`."""
    user: str = ""
    """User name. Empty: the one in `url`, if any."""
    password: SecretStr = SecretStr("")
    """Password. Empty: the one in `url`, if any."""
    token: BearerToken = SecretStr("")
    """Sent as `Authorization: Bearer …`, in place of user and password."""
    ca_file: Path | None = None
    """Certificates to trust (PEM), with TLS. Not set: the system's."""
    cert_file: Path | None = None
    """Client certificate (PEM), for a registry that asks for one."""
    key_file: Path | None = None
    """Key of the client certificate (PEM)."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        if url and not (url.startswith(("http://", "https://")) and urlsplit(url).hostname):
            raise ValueError("the address of a registry begins with http:// or https:// and names a host")
        if "," in url:
            raise ValueError("one address; for several registries put a load balancer before them")
        return url

    @property
    def address(self) -> str:
        """The address without user and password, and without a slash at its end."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))

    @property
    def authorization(self) -> str:
        """The value of the header `Authorization`; empty: none."""
        if token := self.token.get_secret_value():
            return f"Bearer {token}"
        parts = urlsplit(self.url)
        user, password = self.user or unquote(parts.username or ""), self.password.get_secret_value() or unquote(parts.password or "")
        return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii") if user else ""
