"""How a server is reached: who we are there, and the files that TLS needs.

Called by the sink's `open`. pymilvus passes over what it cannot use without a word (a certificate without its key, any of them beside
an `http://` address), and then speaks without it: here all of that is refused.
"""

from pathlib import Path

from sinks.milvus.lite import LocalMilvus
from sinks.milvus.milvus_client import MilvusAddress, MilvusConnection
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.sink import SinkMismatch

_LOCAL_WRITE_S = 60.0
"""A local write that timed out may still be running, and a second one beside it would lose rows: so it gets long, and then it is final."""


def connect(settings: MilvusSettings, local: LocalMilvus | None) -> MilvusConnection:
    """Connect to the server of the settings, or to a local folder's. Raises SinkMismatch, or MilvusFault when nobody answers."""
    address = MilvusAddress(settings.uri, token(settings), settings.db, tls_options(settings))
    write_timeout_s = settings.timeout_s
    if local is not None:
        address = address._replace(uri=local.address, pings=False)  # Milvus Lite's server hangs up on a client that pings
        write_timeout_s = max(_LOCAL_WRITE_S, write_timeout_s)
    return MilvusConnection(address, timeout_s=settings.timeout_s, write_timeout_s=write_timeout_s, consistency=settings.consistency)


def token(settings: MilvusSettings) -> str:
    """Return what the server is told of who we are; empty: nothing."""
    return settings.token.get_secret_value() or (f"{settings.user}:{settings.password.get_secret_value()}" if settings.user else "")


def tls_options(settings: MilvusSettings) -> dict[str, str]:
    """Return pymilvus's own names and values. Raises SinkMismatch for a file that is not there, or that would not be used."""
    files = {"milvus.ca_file": settings.ca_file, "milvus.cert_file": settings.cert_file, "milvus.key_file": settings.key_file}
    given = {name: file for name, file in {**files, "milvus.server_name": settings.server_name}.items() if file}
    if given and not settings.uri.startswith("https://"):
        raise SinkMismatch(f"{next(iter(given))} is set: it needs an https:// address, and milvus.uri is {settings.uri!r}")
    for name, file in files.items():
        if file is not None and not _is_readable(file.expanduser()):
            raise SinkMismatch(f"{name}: {file} is not there or cannot be read")
    options = {"server_name": settings.server_name} if settings.server_name else {}
    ca, cert, key = ("" if file is None else str(file.expanduser()) for file in files.values())
    if not cert and not key:
        return {**options, "server_pem_path": ca} if ca else options
    for name, file in files.items():
        if file is None:
            raise SinkMismatch(f"{name} is missing: a client certificate needs milvus.ca_file, milvus.cert_file and milvus.key_file")
    return {**options, "ca_pem_path": ca, "client_pem_path": cert, "client_key_path": key}


def _is_readable(file: Path) -> bool:
    try:
        with file.open("rb"):
            return True
    except OSError:
        return False
