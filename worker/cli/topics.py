"""`vectail topics init`: creates the topics that vectail reads and writes; existing topics are not changed.

The dead-letter topic keeps its records for ever; if an existing one does not, a warning says so.
"""

from consumers.source import KafkaRefused
from worker.cli.absent_server import REACH_S, kafka_away, said_if_slow
from worker.cli.exits import user_error
from worker.cli.screen import Screen
from worker.runtime.dead_letter_topic import DEAD_LETTER_TOPIC_PROPERTIES, warn_of_expiry
from worker.runtime.kafka_admin import BROKERS_DEFAULT, CREATE_S, BrokerAway, KafkaAdmin
from worker.settings.settings import Settings


def init_topics(settings: Settings, screen: Screen, *, partitions: int, replication_factor: int | None) -> dict[str, object]:
    """Create missing topics and return what `--json` prints. Raises CommandFailed; what was created then stays.

    Log topics and the query topic get `partitions`, so that this many workers can share them; replies and dead letters get one. Topics of
    a pattern have no names to create.
    """
    kafka, names = settings.kafka, settings.subscription.names
    wanted = dict.fromkeys((*names, kafka.query_topic), partitions) | dict.fromkeys((kafka.reply_topic, kafka.dead_letter_topic), 1)
    results = []
    try:
        admin = KafkaAdmin(kafka.bootstrap_servers, kafka.librdkafka)
        existing = admin.partition_counts(REACH_S)
        for topic, count in wanted.items():
            properties = DEAD_LETTER_TOPIC_PROPERTIES if topic == kafka.dead_letter_topic else {}
            replicas = replication_factor or BROKERS_DEFAULT
            with said_if_slow(screen.warn, f"waiting for kafka at {kafka.bootstrap_servers} to create {topic}, for up to {CREATE_S:g} s"):
                is_new = topic not in existing and admin.create_topic(
                    topic, partitions=count, replication_factor=replicas, properties=properties
                )
            results.append({"topic": topic, "created": is_new, "partitions": existing.get(topic, count)})
            state = "created" if is_new else "exists already, not changed"
            screen.say(f"{topic}: {state} (partitions: {results[-1]['partitions']})")
        warn_of_expiry(admin, kafka.dead_letter_topic, screen.warn, timeout_s=REACH_S)
    except KafkaRefused as error:
        raise user_error(error) from error
    except BrokerAway as error:
        raise kafka_away(kafka.bootstrap_servers, error) from error
    return {"topics": results}
