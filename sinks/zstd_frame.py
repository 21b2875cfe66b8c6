"""How much a zstd frame holds, read from its header (RFC 8878, 3.1.1.1) before anything is unpacked. A pure function."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_LONGEST_HEADER = 18


def content_bytes(frame: bytes, most: int) -> int:
    """Return how many bytes a zstd frame holds, as its header says. Raises ValueError, also for more than `most`."""
    if frame[:4] != _MAGIC:
        raise ValueError("it is not a zstd frame")
    header = frame.ljust(_LONGEST_HEADER, b"\0")
    descriptor = header[4]
    is_single = descriptor >> 5 & 1
    width = (is_single, 2, 4, 8)[descriptor >> 6]
    begin = 5 + (1 - is_single) + (0, 1, 2, 4)[descriptor & 3]
    size = int.from_bytes(header[begin : begin + width], "little") + (256 if descriptor >> 6 == 1 else 0)
    if not width or size > most:
        raise ValueError("its zstd frame does not say how much it holds, or too much")
    return size
