"""What is said of bytes that came damaged: where it is the wire, they come well again; where it is not, a partition stands still.

`consumers.intake` asks for the line each time that it fetches a place again. A batch that is damaged on the broker's disk, or that the
client does not unpack for its size (zstd only: librdkafka 2.16 stops at `receive.message.max.bytes`), comes as damaged for ever. It is
neither skipped nor given up, so the user must learn which one it is, and what ends it.
"""

from consumers.arrival import Partition

WIRE_TRIES = 4
"""How often in a row one place may come damaged before it is more than a bad wire: some 2 s."""
DEFAULT_MOST_BYTES = "100000000"
"""The client's own `receive.message.max.bytes`."""


def line_of(partition: Partition, next_offset: int | None, reason: str, *, tries: int, most_bytes: str) -> str:
    """Return what is said of a place that came damaged `tries` times in a row.

    It is the same line for as long as it lasts, so that it can be said once a minute: a bad wire names another place each time.

    `next_offset` is the first record that is missing, None if none of this assignment has come yet; `most_bytes` is the client's
    `receive.message.max.bytes`.
    """
    name = f"{partition.topic}/{partition.partition}"
    if tries <= WIRE_TRIES:
        return f"{name}: what came is damaged; fetching it again"
    place = "what is next" if next_offset is None else f"what stands at offset {next_offset}"
    allow = (
        f"if it is zstd and larger than {most_bytes} bytes, allow more in kafka.librdkafka (receive.message.max.bytes); "
        if reason.startswith("Decompression")
        else ""
    )
    return (
        f"{name} stands still: {place} comes damaged every time ({reason}); nothing behind it is read until it comes well; {allow}"
        f"`vectail offsets reset --to OFFSET --topic {partition.topic} --partition {partition.partition}` passes over it"
    )
