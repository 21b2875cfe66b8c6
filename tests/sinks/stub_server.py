"""A Milvus server that fails on request: Milvus Lite behind an address, so that the sink takes it for a server.

For what no real server does when asked to: a short count, a rate limit, an answer that comes too late.
One writer at a time, as Lite demands.
"""

import threading
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from milvus_lite import MilvusLite
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from pymilvus.grpc_gen import common_pb2, milvus_pb2, milvus_pb2_grpc


class StubServer(MilvusServicer):  # type: ignore[misc]
    """Answers as Lite does, but for the switches.

    Thread: any.
    """

    def __init__(self, folder: Path) -> None:
        self._database = MilvusLite(str(folder))
        super().__init__(self._database)
        self.refuse: tuple[int, str] | None = None
        """Upserts and queries answer with this code and reason, and do nothing."""
        self.forgotten_rows = 0
        """Upserts acknowledge so many rows fewer than they stored."""
        self.answer = threading.Event()
        """Cleared: an upsert is stored, and its answer waits."""
        self.answer.set()
        self.upserts = 0
        self.queries = 0
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
        milvus_pb2_grpc.add_MilvusServiceServicer_to_server(self, self._server)
        self.uri = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def Upsert(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (the names and types of generated code)
        self.upserts += 1
        if self.refuse:
            return milvus_pb2.MutationResult(status=self._refusal())
        result = super().Upsert(request, context)
        result.upsert_cnt -= self.forgotten_rows
        self.answer.wait()
        return result

    def Query(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as Upsert)
        self.queries += 1
        return milvus_pb2.QueryResults(status=self._refusal()) if self.refuse else super().Query(request, context)

    def close(self) -> None:
        """Stop at once."""
        self.answer.set()
        self._server.stop(grace=None).wait()
        self._database.close()

    def _refusal(self) -> Any:  # noqa: ANN401 (as Upsert)
        assert self.refuse
        code, reason = self.refuse
        return common_pb2.Status(code=code, reason=reason)
