"""Whether a broker answers: how long none has, and what a user reads about it.

`consumers.kafka` tells here what it hears. By default a broker that is away is waited for, for ever; `kafka.down_exit_s` ends that.
"""

from collections.abc import Mapping

from consumers.source import SourceAway

_MOST_GAP_S = 1.0
_STILL_USED = "instance ID is still used"
_NO_SUCH_GROUP = "group id does not exist"
"""In the reason, where the client gives the error as a fatal one and hides which."""
_SECRET = ("password", "secret", "token", "key", "oauthbearer.config")


def fatal_line(name: str, reason: str) -> str:
    """Return what is said of an error after which the client cannot go on."""
    if name == "UNRELEASED_INSTANCE_ID" or _STILL_USED in reason:
        return (
            f"{reason} (another member has this group.instance.id; one that was killed has it until its session is over, by default 45 s, "
            "group.consumer.session.timeout.ms on the broker: start again then)"
        )
    if name == "GROUP_ID_NOT_FOUND" or _NO_SUCH_GROUP in reason:
        return (
            f"{reason} (under kafka.group_protocol = consumer: the group has members of the classic protocol, which the broker cannot take "
            "over; end all of them; one that was killed stays until its session is over, by default 45 s, session.timeout.ms: "
            "start again then)"
        )
    return reason


class BrokerConnectivity:
    """Counts the time in which somebody polled and nobody answered; a process that was frozen meanwhile has not waited.

    Thread: one, its source's.
    """

    def __init__(self, bootstrap_servers: str, librdkafka: Mapping[str, str], *, down_exit_s: float | None) -> None:
        self._servers = bootstrap_servers
        self._secrets = [value for name, value in librdkafka.items() if value and name.endswith(_SECRET)]
        self._down_exit_s = down_exit_s
        self._polled_s: float | None = None
        self._silent_s = 0.0
        self._answered = False
        self._refused = False

    def heard(self) -> None:
        """A broker has answered since the last poll."""
        self._silent_s = 0.0
        self._answered = True
        self._refused = False

    def polled(self, now_s: float) -> None:
        """Count the time since the last poll, unless somebody answered in it. Raises SourceAway."""
        if self._polled_s is not None and not self._answered:
            self._silent_s += min(now_s - self._polled_s, _MOST_GAP_S)
        self._polled_s, self._answered = now_s, False
        if self._down_exit_s is not None and self._silent_s > self._down_exit_s:
            raise SourceAway(f"no broker of kafka at {self._servers} has answered for {self._down_exit_s:g} s (kafka.down_exit_s)")

    def needs_probe(self) -> bool:
        """Whether a broker should be asked, only to see that it is there."""
        return self._down_exit_s is not None and self._silent_s > self._down_exit_s / 4

    def complaint(self, name: str, reason: str) -> str | None:
        """Return the line about an error of the client's connections; None if there is nothing to say."""
        if name in ("_AUTHENTICATION", "_SSL"):
            self._refused = True
            what = "does not accept our credentials" if name == "_AUTHENTICATION" else "cannot be reached over TLS"
            return f"kafka at {self._servers} {what} ({self._plain(reason)}); trying again"
        if name == "_ALL_BROKERS_DOWN" and not self._refused:
            return f"kafka at {self._servers} is away; waiting for it"
        return None

    def _plain(self, reason: str) -> str:
        """Leave out the connection and the time, so that the line is said once, and every secret."""
        plain = reason.split("/bootstrap: ", 1)[-1].split(" (after ", 1)[0]
        for secret in self._secrets:
            plain = plain.replace(secret, "***")
        return plain
