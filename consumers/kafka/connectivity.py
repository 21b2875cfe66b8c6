"""Tracks how long no broker has answered, and words what the user reads about it.

`consumers.kafka` reports every response and every poll. By default it waits for ever for a broker that is away; `kafka.down_exit_s` sets
a limit.
"""

from collections.abc import Mapping

from consumers.source import SourceAway

_MAX_GAP_S = 1.0
"""Longest time between two polls that counts as silence."""
_STILL_USED = "instance ID is still used"
_NO_SUCH_GROUP = "group id does not exist"
"""Parts of the reason, for errors that the client wraps in a generic fatal one."""
_SECRET_SUFFIXES = ("password", "secret", "token", "key", "oauthbearer.config")


def fatal_line(name: str, reason: str) -> str:
    """Return the user's line for an error after which the client cannot go on."""
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
    """Counts the time spent polling without a response; at most a second for each poll, so that a frozen process has not waited.

    Thread: one, its source's.
    """

    def __init__(self, bootstrap_servers: str, librdkafka: Mapping[str, str], *, down_exit_s: float | None) -> None:
        self._servers = bootstrap_servers
        self._secrets = [value for name, value in librdkafka.items() if value and name.endswith(_SECRET_SUFFIXES)]
        self._down_exit_s = down_exit_s
        self._last_poll_s: float | None = None
        self._silence_s = 0.0
        self._has_response = False
        self._is_refused = False

    def on_response(self) -> None:
        """Note that a broker has answered since the last poll."""
        self._silence_s = 0.0
        self._has_response = True
        self._is_refused = False

    def on_poll(self, now_s: float) -> None:
        """Count the time since the last poll as silence, unless a broker answered in it. Raises SourceAway."""
        if self._last_poll_s is not None and not self._has_response:
            self._silence_s += min(now_s - self._last_poll_s, _MAX_GAP_S)
        self._last_poll_s, self._has_response = now_s, False
        if self._down_exit_s is not None and self._silence_s > self._down_exit_s:
            raise SourceAway(f"no broker of kafka at {self._servers} has answered for {self._down_exit_s:g} s (kafka.down_exit_s)")

    def needs_probe(self) -> bool:
        """Whether to ask a broker something, only to see whether it answers."""
        return self._down_exit_s is not None and self._silence_s > self._down_exit_s / 4

    def error_line(self, name: str, reason: str) -> str | None:
        """Return the user's line for an error of the client's connections; None for one that needs no line."""
        if name in ("_AUTHENTICATION", "_SSL"):
            self._is_refused = True
            problem = "refuses the credentials" if name == "_AUTHENTICATION" else "cannot be reached over TLS"
            return f"kafka at {self._servers} {problem} ({self._plain(reason)}); trying again"
        if name == "_ALL_BROKERS_DOWN" and not self._is_refused:
            return f"kafka at {self._servers} is away; waiting for it"
        return None

    def _plain(self, reason: str) -> str:
        """Remove the connection and the time, so that repeated lines are equal, and every secret."""
        plain = reason.split("/bootstrap: ", 1)[-1].split(" (after ", 1)[0]
        for secret in self._secrets:
            plain = plain.replace(secret, "***")
        return plain
