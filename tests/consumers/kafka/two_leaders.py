"""A mock cluster of two brokers whose partition changes its leader, through the C library: the Python client has no such calls."""

import ctypes

from confluent_kafka import Producer

from tests.consumers.kafka.raw_headers import client_library

_WAIT_S = 10.0


class TwoLeaders:
    """One topic with one partition; every `lead` begins another leader epoch, from 1 on."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._library = library = client_library()
        for function in (library.rd_kafka_conf_new, library.rd_kafka_new, library.rd_kafka_mock_cluster_new):
            function.restype = ctypes.c_void_p
        library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        error = ctypes.create_string_buffer(512)
        conf = ctypes.c_void_p(library.rd_kafka_conf_new())
        assert library.rd_kafka_conf_set(conf, b"log_level", b"0", error, 512) == 0
        self._owner = ctypes.c_void_p(library.rd_kafka_new(0, conf, error, 512))
        self._cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(self._owner, 2))
        self.bootstrap: str = library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        assert library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), 1, 2) == 0

    def lead(self, broker: int) -> None:
        """Make broker 1 or 2 the leader, with the next leader epoch."""
        name = self.topic.encode()
        assert self._library.rd_kafka_mock_partition_set_leader(self._cluster, name, ctypes.c_int32(0), ctypes.c_int32(broker)) == 0

    def lag(self, broker: int, leader_epoch: int, answers: int = 3) -> None:
        """Have so many answers about the leader name an earlier one, as after an election that the client has not heard of yet."""
        place = (self.topic.encode(), ctypes.c_int32(0), ctypes.c_int32(broker), ctypes.c_int32(leader_epoch))
        for _ in range(answers):
            self._library.rd_kafka_mock_partition_push_leader_response(self._cluster, *place)

    def fail_positions(self, answers: int) -> None:
        """Refuse so many questions for committed positions: the broker is not the group's coordinator."""
        offset_fetch, not_coordinator = 9, 16
        for _ in range(answers):
            push = self._library.rd_kafka_mock_push_request_errors
            push(self._cluster, ctypes.c_int16(offset_fetch), ctypes.c_size_t(1), ctypes.c_int(not_coordinator))

    def produce(self, count: int, word: bytes) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0, "batch.num.messages": 10})
        for number in range(count):
            producer.produce(self.topic, b"%s %d" % (word, number), partition=0)
        assert producer.flush(_WAIT_S) == 0

    def close(self) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._owner)
