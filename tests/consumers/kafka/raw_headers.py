"""Produces a record with a header whose name is not UTF-8 through the C library, as the Python client refuses to."""

import ctypes
from pathlib import Path

import confluent_kafka

from tests.services.missing import skip_or_fail

_FLUSH_MS = 10_000
_TOPIC, _PARTITION, _VALUE, _TIME, _HEADERS, _END = 1, 3, 4, 8, 10, 0
"""`rd_kafka_vtype_t` of librdkafka's rdkafka.h."""


def client_library() -> ctypes.CDLL:
    found = list(Path(confluent_kafka.__file__).parents[1].glob("confluent_kafka.libs/librdkafka*"))
    if not found:
        skip_or_fail("the client's C library does not lie beside it")
    return ctypes.CDLL(str(found[0]))


def produce_with_header(bootstrap: str, topic: str, value: bytes, *names: bytes, time_ms: int = 0) -> None:
    """Produce one record to partition 0 and return once the broker has it; a time of 0 means now."""
    library = client_library()
    error = ctypes.create_string_buffer(512)
    library.rd_kafka_conf_new.restype = library.rd_kafka_new.restype = library.rd_kafka_headers_new.restype = ctypes.c_void_p
    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    assert library.rd_kafka_conf_set(conf, b"bootstrap.servers", bootstrap.encode(), error, 512) == 0
    producer = ctypes.c_void_p(library.rd_kafka_new(0, conf, error, 512))
    headers = ctypes.c_void_p(library.rd_kafka_headers_new(ctypes.c_size_t(len(names))))
    for name in names:
        library.rd_kafka_header_add(headers, name, ctypes.c_ssize_t(len(name)), b"v", ctypes.c_ssize_t(1))
    place = (ctypes.c_int(_TOPIC), topic.encode(), ctypes.c_int(_PARTITION), ctypes.c_int32(0))
    content = (ctypes.c_int(_VALUE), value, ctypes.c_size_t(len(value)), ctypes.c_int(_HEADERS), headers)
    time = (ctypes.c_int(_TIME), ctypes.c_int64(time_ms))
    assert library.rd_kafka_producev(producer, *place, *content, *time, ctypes.c_int(_END)) == 0
    assert library.rd_kafka_flush(producer, _FLUSH_MS) == 0
    library.rd_kafka_destroy(producer)
