"""Figures about a group from Kafka's own kafka-consumer-groups, which people compare every dashboard with."""

import subprocess
from typing import NamedTuple

from consumers.record import Partition
from tests.services.local_kafka import kafka_jars

_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
_ANSWER_S = 120.0


class Described(NamedTuple):
    """One line of the tool's table; None where it has a dash."""

    committed: int | None
    end_offset: int | None
    lag: int | None


def describe(bootstrap: str, group: str) -> dict[Partition, Described]:
    """Return the tool's line for every partition of a group that has members."""
    command = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka_jars()}/*", _TOOL]
    arguments = ["--bootstrap-server", bootstrap, "--describe", "--group", group, "--timeout", "60000"]
    ran = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=_ANSWER_S, check=True)
    rows = [line.split() for line in ran.stdout.splitlines()]
    return {
        Partition(row[1], int(row[2])): Described(*(None if cell == "-" else int(cell) for cell in row[3:6]))
        for row in rows
        if row[:1] == [group] and row[2].isdigit()
    }
