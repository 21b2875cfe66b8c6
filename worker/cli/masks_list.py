"""`vectail masks list`: the built-in masks, and the user's own, as the settings have them."""

from collections.abc import Collection
from typing import Final, NamedTuple

from consumers.columns import string_column
from consumers.text.mask import MASKS
from worker.estimate.sample_texts import MaskInput
from worker.settings.masks_version import masks_version
from worker.settings.settings import Settings
from worker.settings.tables import MaskTable, new_masker


class MaskExample(NamedTuple):
    """A mask, explained."""

    removes: str
    text: str
    """Something of it goes when only this mask and those of `needs` are on."""
    needs: tuple[str, ...] = ()
    fields: str = "{}"
    """Kept fields of the record, as a JSON object."""


EXAMPLES: Final = {
    "field": MaskExample("values of the record's own fields: a user, a host, a pod, an id, …", "web-1 is away", fields='{"host":"web-1"}'),
    "json": MaskExample("values of a message that is JSON, by their keys", '{"msg":"order accepted","order_id":"A-77","status":"ok"}'),
    "host": MaskExample("the host in a syslog line's head", "Dec 10 06:55:46 gateway sshd[24200]: Connection closed"),
    "email": MaskExample("e-mail addresses", "mail from someone@example.org was rejected"),
    "at": MaskExample("somebody at a host of one label", "backup@web was refused"),
    "word": MaskExample("words with digits that are names or values", "pod cart-7f9c6d5b8-x2x9z of kafka:9092 is gone"),
    "query": MaskExample("values in a query string", "opened /search?user=ada&page=last"),
    "request": MaskExample(
        "all but two words of a request's path", 'HTTP "GET /v2/54fa/servers/detail/full HTTP/1.1" refused', needs=("hex", "number")
    ),
    "url": MaskExample(
        "the host of an address, and all but two words of its path",
        "fetching https://cdn.example.org/v1/icons/large/red.png failed",
        needs=("number",),
    ),
    "hostname": MaskExample("names of hosts, with their port", "connecting to db.prod.example.org:5432"),
    "user": MaskExample("user names behind `user`", "Invalid user bob from the outside"),
    "session": MaskExample("user names behind `for user`", "session opened for user bob"),
    "login": MaskExample("user names behind a kind of login", "Accepted password for bob from afar"),
    "account": MaskExample("whose account it is", "account of bob locked"),
    "value": MaskExample("values of keys that name a user, a host, an id, a path, …", "login failed user=bob status=locked"),
    "quoted": MaskExample("names in quotation marks, behind what they name", 'relation "orders" does not exist'),
    "named": MaskExample("names in quotation marks behind more words", 'service "orders" does not exist'),
    "path": MaskExample("paths of three segments and more; two of a system's folder stay", "reading /etc/app/main.conf failed"),
    "stamped": MaskExample("names of files that a time begins", "[2017-07-04_10.02.54]-report.xml was saved", needs=("number",)),
    "slashed": MaskExample("paths and keys on Windows, with blanks in them", r"set HKLM\SOFTWARE\Vendor\App to none"),
    "file": MaskExample("names of files", "could not open orders.csv: permission denied"),
    "angle": MaskExample("values in angle brackets", "queued from=<ada> again"),
    "name": MaskExample("single names behind a word that announces one", "token refreshed for nadia"),
    "items": MaskExample("what numbers leave of a list in brackets", "added partitions [orders-, clicks-]"),
    "drive": MaskExample("paths on Windows", r"opened C:\Users\ada\notes.txt"),
    "attempt": MaskExample("the letter between the numbers of an id", "attempt_1445144423722_0020_m_000009 done"),
    "duration": MaskExample("units of time behind numbers", "gave up after 2.5 secs"),
    "measure": MaskExample("more units behind numbers", "gave up after 2.5 s"),
    "date": MaskExample("dates and times with the name of a month", "started 10/Oct/2000:13:55:36 -0700"),
    "uuid": MaskExample("UUIDs within a name", "instance_550e8400-e29b-41d4-a716-446655440000_disk is full"),
    "groups": MaskExample("UUIDs, MAC and IPv6 addresses, ISO times", "request 123e4567-e89b-12d3-a456-426614174000 done"),
    "ipv6": MaskExample("shortened IPv6 addresses", "connected to fe80::1 at last"),
    "place": MaskExample("names of racks and slots", "card R20-M0-NE-C:J05-U01 failed"),
    "hex": MaskExample("hexadecimal numbers", "fault at 0x7fff5fbf in main"),
    "mixed": MaskExample("words that mix letters and numbers", "session 8f3kd92 expired"),
    "unit": MaskExample("units behind numbers", "took 12ms in all", needs=("number",)),
    "number": MaskExample("numbers, with their signs and separators", "read 1,234 of 5,678 blocks"),
    "hidden": MaskExample("values that were hidden", "password=**** was refused"),
    "brackets": MaskExample("parentheses with nothing left in them", "restarted ( ) by hand"),
    "list": MaskExample("one to four words again and again", "nodes up up up"),
}
"""By the name of the mask."""


def list_masks(settings: Settings, topic: str | None) -> dict[str, object]:
    """Return what `--json` prints: the masks that hold for a topic, None: for all that have no masks of their own."""
    table = settings.mask if topic is None else settings.masks_of(topic)
    return {
        "mode": table.mode,
        "version": masks_version(table),
        "masks": [_built_in(mask.name, is_on=mask.name not in table.disabled and table.mode == "template") for mask in MASKS],
        "added": [
            {"name": mask.name, "pattern": mask.pattern, "replacement": mask.replacement, "on": table.mode == "template"}
            for mask in table.add
        ],
    }


def _built_in(name: str, *, is_on: bool) -> dict[str, object]:
    example = EXAMPLES.get(name)
    if example is None:
        return {"name": name, "on": is_on, "removes": "", "example": "", "becomes": ""}
    return {
        "name": name,
        "on": is_on,
        "removes": example.removes,
        "example": example.text,
        "becomes": masked_example(example, {name, *example.needs}),
    }


def masked_example(example: MaskExample, names: Collection[str]) -> str:
    """Return the text of an example under these masks alone."""
    table = MaskTable(disabled=tuple(mask.name for mask in MASKS if mask.name not in names))
    text = MaskInput(string_column([example.text]), string_column([example.fields])).of(table)
    return new_masker(table).mask_column(text).text(0)
