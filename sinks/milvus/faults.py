"""Whose fault is it when Milvus refuses? One table for servers and local folders (design: errors).

A server's refusal is the world's fault unless it is on the short list below, which is for writes only: nobody's row is at fault where
none was sent. A local folder's storage engine serves this process alone: after a failed write it may lose rows that it acknowledges
later, so such a failure is final.
"""

from sinks.sink import SinkBroken, SinkBusy, SinkRejected

_REASON_CHARS = 300
_READ_REASON_CHARS = 160
"""A server quotes what it cannot read: a user's filter is not to be spread over logs and replies."""
_VALUE_CODES = frozenset({1, 6, 1100})
"""Milvus Lite's "illegal argument" (6), Milvus's "invalid parameter" (1100), older servers' "unexpected" (1)."""
_VALUE_PHRASES = ("exceeds max length", "exceeds max_length", "exceeds max capacity", "exceeds max_capacity")
_SIZE_PHRASES = ("RESOURCE_EXHAUSTED", "larger than max", "too large", "maxOutputSize")
"""gRPC's status for a message above a limit, the words of it and of the queues behind a server, and a server's setting for answers."""


class MilvusFault(Exception):
    """A call to Milvus failed; what that means is for `refusal` to say.

    Thread: any.
    """

    def __init__(self, call: str, code: int, reason: str) -> None:
        """Keep `call` (our name of it), Milvus's `code` (-1 when there is none) and a line's worth of `reason`: its two ends."""
        self.call = call
        self.code = code
        self.reason = _ends(" ".join(reason.split()), _REASON_CHARS)
        super().__init__(f"Milvus {call} failed with code {code}: {self.reason}")

    @property
    def may_be_size(self) -> bool:
        """Whether less at once may do: the call carried more than somebody on the way takes."""
        return any(phrase in self.reason for phrase in _SIZE_PHRASES)


def refusal(fault: MilvusFault, *, write: bool, local: bool) -> SinkBusy | SinkRejected | SinkBroken:
    """Turn a fault into one of the sink's refusals; `write` says that rows were on their way, `local` that it was into a local folder."""
    if not write:
        return SinkBusy(f"Milvus {fault.call} failed with code {fault.code}: {_ends(fault.reason, _READ_REASON_CHARS)}")
    if fault.code in _VALUE_CODES and any(phrase in fault.reason for phrase in _VALUE_PHRASES):
        return SinkRejected(str(fault))
    if local:
        return SinkBroken(f"{fault}; nothing more is written to this folder until a new start")
    return SinkBusy(str(fault))


def _ends(text: str, most_chars: int) -> str:
    half = (most_chars - 3) // 2
    return text if len(text) <= most_chars else f"{text[:half]} … {text[-half:]}"
