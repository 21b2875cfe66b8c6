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
from pymilvus.grpc_gen import common_pb2, milvus_pb2, milvus_pb2_grpc, schema_pb2


class StubServer(MilvusServicer):  # type: ignore[misc]
    """Answers as Lite does, but for the switches.

    Thread: any.
    """

    def __init__(self, folder: Path, *, certificate: tuple[bytes, bytes] | None = None) -> None:
        """Serve; with a `certificate`, key first, by TLS."""
        self._database = MilvusLite(str(folder))
        super().__init__(self._database)
        self.refuse: tuple[int, str] | None = None
        """Writes and queries answer with this code and reason, and do nothing."""
        self.forgotten_rows = 0
        """Writes acknowledge so many rows fewer than they stored."""
        self.most_rows = 1 << 31
        """Requests with more rows are messages too large."""
        self.most_answer_bytes = 1 << 31
        """Answers to queries and searches that are longer are messages too large."""
        self.denied: tuple[grpc.StatusCode, str] | None = None
        """Writes end with this status of gRPC's, and do nothing."""
        self.no_index: tuple[int, str] | None = None
        """Requests for an index of the templates' vectors answer with this code and reason."""
        self.version = ""
        """What the server says it is; Milvus Lite, if empty."""
        self.answer = threading.Event()
        """Cleared: a write is stored, and its answer waits."""
        self.answer.set()
        self.tell = threading.Event()
        """Cleared: what a query found waits to be told."""
        self.tell.set()
        self.looked = threading.Event()
        """Set when a query has looked at what is stored; a test clears it and waits for it."""
        self.inserts = 0
        self.upserts = 0
        self.stored_rows: list[int] = []
        """Rows of each write that was not refused."""
        self.queries = 0
        self.searches = 0
        self.mapped: set[str] = set()
        """Columns that are to be mapped from files."""
        self.indexes: dict[str, str] = {}
        """Type of each column's index as it was asked for."""
        self.consistency: list[int] = []
        """Of each query and search: 0 is Strong, 2 Bounded."""
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
        milvus_pb2_grpc.add_MilvusServiceServicer_to_server(self, self._server)
        if certificate is None:
            self.uri = f"http://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        else:
            credentials = grpc.ssl_server_credentials([certificate])
            self.uri = f"https://127.0.0.1:{self._server.add_secure_port('127.0.0.1:0', credentials)}"
        self._server.start()

    def Insert(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (the names and types of generated code)
        self.inserts += 1
        result = self._refused_write(request, context)
        if result is None:
            result = super().Insert(request, context)
            result.insert_cnt -= self.forgotten_rows
            self.answer.wait()
        return result

    def Upsert(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as Insert)
        self.upserts += 1
        result = self._refused_write(request, context)
        if result is None:
            result = super().Upsert(request, context)
            result.upsert_cnt -= self.forgotten_rows
            self.answer.wait()
        return result

    def CreateCollection(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as Insert)
        fields = schema_pb2.CollectionSchema.FromString(request.schema).fields
        self.mapped |= {field.name for field in fields for one in field.type_params if (one.key, one.value) == ("mmap.enabled", "true")}
        return super().CreateCollection(request, context)

    def CreateIndex(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as Insert)
        (self.indexes[request.field_name],) = (one.value for one in request.extra_params if one.key == "index_type")
        code, reason = (self.no_index if request.field_name == "vector" else None) or (0, "")
        return common_pb2.Status(code=code, reason=reason) if code else super().CreateIndex(request, context)

    def GetVersion(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as Insert)
        answer = super().GetVersion(request, context)
        answer.version = self.version or answer.version
        return answer

    def Connect(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as Insert)
        answer = super().Connect(request, context)
        answer.server_info.build_tags = self.version or answer.server_info.build_tags
        return answer

    def Query(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as Insert)
        self.queries += 1
        self.consistency.append(request.consistency_level)
        if self.refuse:
            return milvus_pb2.QueryResults(status=self._refusal())
        found = super().Query(request, context)
        self.looked.set()
        self.tell.wait()
        return self._told(found, context)

    def Search(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802 (as Insert)
        self.searches += 1
        self.consistency.append(request.consistency_level)
        if self.refuse:
            return milvus_pb2.SearchResults(status=self._refusal())
        return self._told(super().Search(request, context), context)

    def close(self) -> None:
        self.answer.set()
        self.tell.set()
        self._server.stop(grace=None).wait()
        self._database.close()

    def _refused_write(self, request: Any, context: Any) -> Any:  # noqa: ANN401 (as Insert)
        if self.refuse:
            return milvus_pb2.MutationResult(status=self._refusal())
        if self.denied:
            context.abort(*self.denied)
        if request.num_rows > self.most_rows:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "grpc: received message larger than max (17 vs. 16)")
        self.stored_rows.append(request.num_rows)
        return None

    def _told(self, answer: Any, context: Any) -> Any:  # noqa: ANN401 (as Insert)
        if answer.ByteSize() > self.most_answer_bytes:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "grpc: trying to send message larger than max (17 vs. 16)")
        return answer

    def _refusal(self) -> Any:  # noqa: ANN401 (as Insert)
        assert self.refuse
        code, reason = self.refuse
        return common_pb2.Status(code=code, reason=reason)
