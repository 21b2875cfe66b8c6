"""Whose fault is it when Milvus refuses? One table for servers and local folders (design: errors).

A server's refusal is the world's fault unless it is on the short list below. A local folder is this process's own
storage engine: after a failed write it may lose rows that it acknowledges later, so such a failure is final.
"""

from sinks.sink import SinkBroken, SinkBusy, SinkRejected

_REASON_CHARS = 300
_VALUE_CODES = frozenset({1, 6, 1100})
"""Milvus Lite's "illegal argument" (6), Milvus's "invalid parameter" (1100), older servers' "unexpected" (1)."""
_VALUE_PHRASES = ("exceeds max length", "exceeds max_length")
_SIZE_PHRASES = ("RESOURCE_EXHAUSTED", "larger than max", "too large")
"""gRPC's status for a message above a limit, and the words of it and of the queues behind a server."""


class MilvusFault(Exception):
    """A call to Milvus failed; what that means is for `refusal` to say.

    Thread: any.
    """

    def __init__(self, call: str, code: int, reason: str) -> None:
        """Keep `call` (our name of it), Milvus's `code` (-1 when there is none) and the first line's worth of `reason`."""
        self.call = call
        self.code = code
        self.reason = " ".join(reason.split())[:_REASON_CHARS]
        super().__init__(f"Milvus {call} failed with code {code}: {self.reason}")

    @property
    def may_be_size(self) -> bool:
        """Whether less at once may do: the call carried more than somebody on the way takes."""
        return any(phrase in self.reason for phrase in _SIZE_PHRASES)


def refusal(fault: MilvusFault, *, local_write: bool) -> SinkBusy | SinkRejected | SinkBroken:
    """Turn a fault into one of the sink's refusals; `local_write` says that rows were on their way into a local folder."""
    if fault.code in _VALUE_CODES and any(phrase in fault.reason for phrase in _VALUE_PHRASES):
        return SinkRejected(str(fault))
    if local_write:
        return SinkBroken(f"{fault}; nothing more is written to this folder until a new start")
    return SinkBusy(str(fault))
