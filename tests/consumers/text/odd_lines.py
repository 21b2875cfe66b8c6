"""Synthetic lines of many shapes, whole, cut short and joined, and the ids that a worker gives them.

As a program it reads lines as a JSON list and prints the ids of each, so that a test can run it under another hash seed.
"""

import json
import sys
from collections.abc import Sequence
from random import Random

from consumers.columns import string_column
from consumers.text.families import family_of
from consumers.text.mask import Masker
from sinks.row import template_id

SHAPES = (
    "{time} INFO connected to {host}:{number} as {user}",
    "{host}: connection from {address} closed",
    "session opened for user {user} by (uid={number})",
    "Invalid user {user} from {address} port {number}",
    "Failed password for {user} from {address} port {number} ssh2",
    "authentication failure; logname= uid={number} rhost={host} user={user}",
    'GET /v{number}/{uuid}/servers/detail?limit={number} HTTP/1.1" status: 503 len: {number}',
    '"GET {path}?user={user}&id={number} HTTP/1.1" 404 {number}',
    "https://{host}{path} answered {number}ms",
    "cannot open file '{path}': error 13",
    'relation "{user}" does not exist (E1234)',
    "{path}: java.io.IOException: Connection reset by peer",
    "C:\\Users\\{user}\\{uuid}.tmp is locked",
    "[instance: {uuid}] Took {number}.{number} seconds to spawn ({number} GB)",
    "/instances/{uuid}_del is removed",
    '{{"level":"error","user":"{user}","path":"{path}","took":{number},"error":"timeout"}}',
    '{{"msg":"retry {number} of {address}","host":"{host}","status":503}}',
    "mail from <{user}@{host}> rejected: [{address}]",
    "eth0 {mac} link up, {number} Mbps",
    "<34>1 {time} {host} su {number} - - 'su root' failed for {user}",
    "workers: {host}, {host}, {host} ({number} of {number})",
    "key={user} value={path} state=failed code={number} id=0x{hex}",
    "état: échec de {user} à {path} : Größe {number} МБ",
    "{number}",
    "{host}",
    "{user} {host} {host}",
    "{host} {host} said {user}",
    "{path} {path}",
    "GET {path} {host}",
    "{user}",
)
_USERS = ("root", "admin", "jean-luc", "o'neil", "Ωmega", "user", "from", "none", "x1")
_HOSTS = ("db.prod.example.org", "a.example.com", "web-3.dc1.internal", "node7", "example.co.uk", "localhost")
_PATHS = ("/var/log/app/current", "/a/b/c", "/opt/x.tmp", "/etc/passwd", "./a/b/c.py", "/", "~/src/x/y")


def odd_lines(count: int, seed: int) -> list[str]:
    """Return lines of all shapes; every third is cut somewhere, and some begin or end with a quote or a bracket."""
    random = Random(seed)
    lines = []
    for number in range(count):
        line = random.choice(SHAPES).format_map(_values(random))
        if number % 3 == 0:
            line = line[: random.randint(1, len(line))]
        lines.append(random.choice(["", "", "", "(", '"', "[", "'"]) + line + random.choice(["", "", "", "(", '"', "/", "user ", "=", ","]))
    return lines


def _values(random: Random) -> dict[str, str]:
    return {
        "time": f"2024-01-{random.randint(10, 28)}T03:04:{random.randint(10, 59)}Z",
        "number": str(random.randint(0, 99_999)),
        "user": random.choice(_USERS),
        "host": random.choice(_HOSTS),
        "path": random.choice(_PATHS),
        "address": f"10.{random.randint(0, 255)}.0.{random.randint(1, 254)}",
        "mac": f"aa:bb:cc:dd:ee:{random.randint(16, 255):x}",
        "hex": f"{random.getrandbits(32):x}",
        "uuid": f"{random.getrandbits(32):08x}-abcd-4abc-8abc-{random.getrandbits(48):012x}",
    }


def ids_of(masker: Masker, lines: Sequence[str], batch_lines: int) -> list[tuple[str, str]]:
    """Return template id and family id of each line, masked in batches."""
    ids: list[tuple[str, str]] = []
    for start in range(0, len(lines), batch_lines):
        masked = masker.mask_column(string_column(lines[start : start + batch_lines]))
        of = [(template_id(text), family_of(text)) for text in masked.values]
        ids += [of[code] for code in masked.codes.tolist()]
    return ids


if __name__ == "__main__":
    given = json.load(sys.stdin)
    json.dump(ids_of(Masker(), given, len(given)), sys.stdout)
