"""The only file that knows pymilvus: connect, create, insert, query, search, each with a time-out and one kind of failure.

Callers are the sink's other files. Every method raises `MilvusFault` and nothing of pymilvus's or grpc's. pymilvus
repeats a failed call for about 210 s unless it gets a time-out, so every call has one, and rate limits are never
repeated here: who calls the sink owns the retries.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple, cast

# Else gRPC marks its descriptors as stale at every fork, and ends the process with SIGABRT when it uses one. No child of ours uses gRPC.
os.putenv("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc
from pymilvus import DataType, Function, FunctionType, MilvusClient, MilvusException
from pymilvus.exceptions import ConnectionConfigException
from pymilvus.grpc_gen import milvus_pb2

from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import (
    ARRAY_ITEMS,
    VECTOR_KINDS,
    CollectionFound,
    CollectionLayout,
    Field,
    IndexParams,
    Kind,
    Row,
    collection_found,
)
from sinks.milvus.packing import ColumnValues, Message, Sought, fill, wanted_values
from sinks.sink import SinkMismatch

_TYPES: dict[Kind, DataType] = {
    "varchar": DataType.VARCHAR,
    "int64": DataType.INT64,
    "int32": DataType.INT32,
    "varchars": DataType.ARRAY,
    "int64s": DataType.ARRAY,
    "int32s": DataType.ARRAY,
    "vector": DataType.FLOAT_VECTOR,
    "float16": DataType.FLOAT16_VECTOR,
    "bfloat16": DataType.BFLOAT16_VECTOR,
    "int8": DataType.INT8_VECTOR,
    "sparse": DataType.SPARSE_FLOAT_VECTOR,
}
_IN_KEY_ORDER = {"iterator": "True", "reduce_stop_for_best": "True"}
"""What pymilvus's own iterators send: servers from 2.4 on then answer a limited query in the order of keys; older ones always do."""
_NEVER_MS = 2**31 - 1
_CONNECT_AGAIN_MS = 5_000
"""gRPC's own pauses between two tries to connect grow to two minutes, and until the next one every call fails, however well all is."""


class MilvusAddress(NamedTuple):
    """Where a Milvus is, and who we are there.

    Thread: any.
    """

    uri: str
    token: str = ""
    db: str = ""
    tls: Mapping[str, str] = MappingProxyType({})
    """What an `https://` address needs, by pymilvus's names."""
    pings: bool = True
    """Whether an idle connection is kept alive."""


class VectorHit(NamedTuple):
    """One row found by vector.

    Thread: any.
    """

    key: str
    score: float
    row: Row


def type_name(kind: Kind) -> str:
    """Milvus's name of one of our kinds."""
    return f"ARRAY<{type_name(ARRAY_ITEMS[kind])}>" if kind in ARRAY_ITEMS else str(_TYPES[kind].name)


def silence() -> None:
    """Keep pymilvus and Milvus Lite from logging failed calls with a traceback: the failure is in the exception."""
    for name in ("pymilvus", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def _faults(call: str) -> Iterator[None]:
    try:
        yield
    except MilvusException as error:
        code = error.code if isinstance(error.code, int) else -1
        raise MilvusFault(call, code, str(error.message)) from None
    except grpc.RpcError as error:
        status = cast("grpc.Call", error)
        raise MilvusFault(call, -1, f"{status.code().name}: {status.details()}") from None


class MilvusConnection:
    """One connection to one Milvus; holds no state but the connection.

    Thread: any.
    """

    def __init__(self, address: MilvusAddress, *, timeout_s: float, write_timeout_s: float, consistency: str) -> None:
        """Connect. Raises MilvusFault when nobody answers, SinkMismatch when the address cannot be one."""
        silence()
        self._timeout_s = timeout_s
        self._write_timeout_s = write_timeout_s
        self._consistency = consistency
        uri, token, db, tls, pings = address
        options = {"grpc.max_reconnect_backoff_ms": _CONNECT_AGAIN_MS}
        if not pings:
            options |= {"grpc.keepalive_time_ms": _NEVER_MS, "grpc.keepalive_permit_without_calls": False}
        with _faults("connect"):
            try:
                self._milvus = MilvusClient(uri, token=token, db_name=db, timeout=timeout_s, dedicated=True, grpc_options=options, **tls)
            except ConnectionConfigException as error:
                reason = f"{uri!r} is not a Milvus address: {error.message}"
                raise SinkMismatch(reason) from None

    def version(self) -> str:
        """Return the server's version as it says it: `v2.6.1`, `milvus_lite-3.2.2`."""
        with _faults("version"):
            return str(self._milvus.get_server_version(timeout=self._timeout_s))

    def describe(self, collection: str) -> CollectionFound | None:
        """Return what is there under that name, or None."""
        with _faults("describe"):
            there = self._milvus.has_collection(collection, timeout=self._write_timeout_s)
        return self.described(collection) if there else None

    def described(self, collection: str) -> CollectionFound:
        """Return what a collection is that must be there; Milvus Lite reads all of it when it is first asked."""
        with _faults("describe"):
            return collection_found(self._milvus.describe_collection(collection, timeout=self._write_timeout_s))

    def alter(self, collection: str, properties: Mapping[str, str]) -> None:
        """Set properties of a collection, and leave its others as they are."""
        with _faults("alter"):
            self._milvus.alter_collection_properties(collection, dict(properties), timeout=self._timeout_s)

    def create(self, layout: CollectionLayout, properties: Mapping[str, str], *, maps_files: bool = False) -> None:
        """Create an empty collection of one shard without an index; `maps_files`: some of its columns stay on disk."""
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        for field in layout.fields:
            options: dict[str, int | bool | DataType] = {}
            if field.kind == "varchar":
                options["max_length"] = field.limit
            elif field.kind in VECTOR_KINDS:
                options["dim"] = field.limit
            elif field.kind in ARRAY_ITEMS:
                options |= {"element_type": _TYPES[ARRAY_ITEMS[field.kind]], "max_capacity": field.limit}
                options |= {"max_length": field.item_bytes} if field.item_bytes else {}
            if field.computed_from:
                source, name = field.computed_from, f"bm25_{field.computed_from}"
                schema.add_function(Function(name, FunctionType.BM25, input_field_names=[source], output_field_names=[field.name]))
            if field.name in [one.computed_from for one in layout.fields]:
                options["enable_analyzer"] = True
            if maps_files and field.stays_on_disk:
                options["mmap_enabled"] = True
            schema.add_field(field.name, _TYPES[field.kind], is_primary=field.key, **options)
        with _faults("create"):
            self._milvus.create_collection(
                layout.name,
                schema=schema,
                properties=dict(properties),
                num_shards=1,
                consistency_level=self._consistency,
                timeout=self._timeout_s,
            )

    def drop(self, collection: str) -> None:
        """Remove a collection with all that is in it; one that is not there is no error."""
        with _faults("drop"):
            self._milvus.drop_collection(collection, timeout=self._write_timeout_s)

    def index_of(self, collection: str, field: str) -> tuple[str, str] | None:
        """Return type and metric of a vector's index, or None without an index."""
        with _faults("describe index"):
            if field not in self._milvus.list_indexes(collection, field_name=field, timeout=self._timeout_s):
                return None
            found = self._milvus.describe_index(collection, field, timeout=self._timeout_s)
        return str(found["index_type"]), str(found["metric_type"])

    def index(self, collection: str, field: Field, index_type: str, params: IndexParams = MappingProxyType({})) -> None:
        """Begin to create the index of one field; it bears the field's name. `load` waits for it.

        Waiting here would be pymilvus's own loop: half a second at least, and without an end when its time-out is no `int`.
        """
        indexes = MilvusClient.prepare_index_params()
        metric = {} if field.metric is None else {"metric_type": field.metric}
        indexes.add_index(field.name, index_type=index_type, index_name=field.name, params=dict(params), **metric)
        with _faults("create index"):
            self._milvus.create_index(collection, indexes, timeout=self._timeout_s, sync=False)

    def load(self, collection: str) -> None:
        """Make a collection searchable; a local one is released after every start."""
        with _faults("load"):
            self._milvus.load_collection(collection, timeout=self._write_timeout_s)

    def flush(self, collection: str) -> None:
        """Write what is in memory into a segment."""
        with _faults("flush"):
            self._milvus.flush(collection, timeout=self._write_timeout_s)

    def insert(self, layout: CollectionLayout, columns: Sequence[ColumnValues]) -> int:
        """Write one batch of rows that are not there yet, given as `upsert` takes it; returns how many rows Milvus counted."""
        request = self._filled(milvus_pb2.InsertRequest(collection_name=layout.name, num_rows=len(columns[0])), layout, columns)
        with _faults("insert"):
            connection = self._milvus._get_connection()  # noqa: SLF001 (the only way to a ready-made request)
            answer = connection.batch_insert(layout.name, [], insert_param=request, **self._ready_made())
        return int(answer.insert_count)

    def upsert(self, layout: CollectionLayout, columns: Sequence[ColumnValues]) -> int:
        """Write one batch, given as one column for each written field of the layout; returns how many rows Milvus counted.

        The request is built here and handed over ready-made: pymilvus's own way from rows to columns visits every value
        in Python, and made storing three times slower. Raises ValueError for an integer that does not fit its column.
        """
        request = self._filled(milvus_pb2.UpsertRequest(collection_name=layout.name, num_rows=len(columns[0])), layout, columns)
        with _faults("upsert"):
            connection = self._milvus._get_connection()  # noqa: SLF001 (as in `insert`)
            answer = connection.upsert(layout.name, [], upsert_param=request, **self._ready_made())
        return int(answer.upsert_count)

    def delete(self, collection: str, expression: str) -> None:
        """Delete the rows that match; servers do not say how many there were."""
        with _faults("delete"):
            self._milvus.delete(collection, filter=expression, timeout=self._write_timeout_s, retry_on_rate_limit=False)

    def query(
        self,
        collection: str,
        expression: str,
        columns: Sequence[str],
        *,
        limit: int | None = None,
        consistency: str | None = None,
        timeout_s: float | None = None,
    ) -> list[Row]:
        """Return rows that match, in no particular order; without a limit the expression itself must bound them.

        `consistency` and `timeout_s`: None for the client's own.
        """
        options: dict[str, object] = {"consistency_level": consistency or self._consistency, "timeout": timeout_s or self._timeout_s}
        return self._query(collection, expression, columns, options if limit is None else {**options, "limit": limit})

    def query_lowest(
        self, collection: str, expression: str, columns: Sequence[str], *, limit: int, consistency: str | None = None
    ) -> list[Row]:
        """Return the rows that match with the lowest keys, perhaps fewer than the limit; none only if no others match. For servers only."""
        options = {"consistency_level": consistency or self._consistency, "timeout": self._timeout_s, "limit": limit}
        return self._query(collection, expression, columns, options | _IN_KEY_ORDER)

    def search(
        self, layout: CollectionLayout, field: Field, wanted: Sought, limit: int, columns: Sequence[str], params: IndexParams
    ) -> list[list[VectorHit]]:
        """Return the rows nearest to each vector, or by BM25 to each text, nearest first; their scores are what the metric gives."""
        with _faults("search"):
            answers = self._milvus.search(
                layout.name,
                data=wanted_values(wanted, field.kind),
                anns_field=field.name,
                search_params={"metric_type": field.metric, "params": dict(params)},
                limit=limit,
                output_fields=list(columns),
                consistency_level=self._consistency,
                timeout=self._timeout_s,
                retry_on_rate_limit=False,
            )
        key = layout.key  # servers before 2.4 do not say it, and then pymilvus calls it `id`
        return [
            [VectorHit(str(hit[key if key in hit else "id"]), float(hit["distance"]), hit["entity"]) for hit in hits] for hits in answers
        ]

    def count(self, collection: str, expression: str = "") -> int:
        """Count live rows that match, exactly (Strong)."""
        rows = self.query(collection, expression, ["count(*)"], consistency="Strong")
        return int(rows[0]["count(*)"])

    def rows_written(self, collection: str) -> int:
        """Return about how many rows a collection has that may not be loaded."""
        with _faults("statistics"):
            return int(self._milvus.get_collection_stats(collection, timeout=self._timeout_s)["row_count"])

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._milvus.close()

    def _query(self, collection: str, expression: str, columns: Sequence[str], options: Mapping[str, object]) -> list[Row]:
        with _faults("query"):
            return list(
                self._milvus.query(collection, filter=expression, output_fields=list(columns), retry_on_rate_limit=False, **options)
            )

    def _filled(self, request: Message, layout: CollectionLayout, columns: Sequence[ColumnValues]) -> Message:
        for field, values in zip(layout.written, columns, strict=True):
            fill(request.fields_data.add(type=int(_TYPES[field.kind]), field_name=field.name), field, values)
        return request

    def _ready_made(self) -> dict[str, object]:
        context = self._milvus._generate_call_context()  # noqa: SLF001 (as in `insert`)
        return {"schema": {"fields": []}, "timeout": self._write_timeout_s, "retry_on_rate_limit": False, "context": context}
