"""librdkafka's mock cluster: a broker inside this process, for tests that need groups and offsets but no real Kafka.

Topics appear when they are used, with four partitions each. It has no admin calls, and a partition keeps 5 MB and drops the rest.
"""

from confluent_kafka import Producer

PARTITIONS = 4


class MockKafka:
    """A mock cluster that lives as long as this object.

    Thread: any; any client of this machine may connect to `bootstrap`.
    """

    def __init__(self, brokers: int = 1) -> None:
        self._owner: Producer | None = Producer({"test.mock.num.brokers": brokers, "log_level": 0})
        found = self._owner.list_topics(timeout=10).brokers.values()
        self.bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in found)

    def close(self) -> None:
        """Close the cluster; its records are lost."""
        self._owner = None
