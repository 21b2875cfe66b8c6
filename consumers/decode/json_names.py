"""Under which names structured entries hold their text, time, level, service and stack trace, in the order in which they are looked at.

The names are those of leaves: `log.level` is a field of that name as well as `level` within `log`. The names of a topic's settings come
before these.
"""

from typing import Final

TEXT_NAMES: Final = (
    "formattedMessage", "body", "body.stringValue", "message", "msg", "log", "@message", "event.original", "MESSAGE", "short_message",
    "full_message", "event", "@m", "@mt", "textPayload", "jsonPayload.message", "jsonPayload.msg", "text", "Message", "RenderedMessage",
    "MessageTemplate", "fields.message", "Body", "resultDescription", "errorMessage", "content", "full_log", "rawstring", "raw", "log_line",
)  # fmt: skip
"""The first that is a string and not empty is the text."""
LEVEL_NAMES: Final = (
    "severity_text", "severityText", "SeverityText", "level", "log.level", "severity", "lvl", "levelname", "@l", "PRIORITY", "level.name",
    "jsonPayload.level", "jsonPayload.severity", "record.level.name", "LogLevel", "Level", "level_name", "error_severity", "Severity",
    "severity_label", "syslogseverity-text", "EventType", "priority",
)  # fmt: skip
"""The first that names a level counts; if none does, a number whose scale is certain."""
SERVICE_NAMES: Final = (
    "service.name", "service", "service_name", "serviceName", "serviceContext.service", "resource.service.name", "app",
    "kubernetes.labels.app", "kubernetes.labels.app.kubernetes.io/name", "kubernetes.labels.app_kubernetes_io/name",
    "kubernetes.pod_labels.app", "kubernetes.pod_labels.app.kubernetes.io/name", "application", "appname",
    "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER", "name", "kubernetes.container_name", "kubernetes.container.name",
    "resource.labels.service_name", "resource.labels.container_name", "syslog_identifier", "host.name",
)  # fmt: skip
"""The first that is a string and not empty. `name` counts only where pino or bunyan wrote the entry."""
TIME_NAMES: Final = (
    "@timestamp", "time", "timestamp", "ts", "@t", "date", "asctime", "eventTime", "timeUnixNano", "observedTimeUnixNano",
    "__REALTIME_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP", "timeMillis", "instant.epochSecond", "timestamp.seconds", "datetime",
    "event.created", "jsonPayload.timestamp", "record.time.timestamp", "Timestamp", "t.$date", "EventTime", "timereported",
    "TimeCreated", "TimeCreated.SystemTime", "System.TimeCreated.SystemTime", "Event.System.TimeCreated.SystemTime",
    "requestReceivedTimestamp", "StartUTC", "time_iso8601", "time_local", "generated_at", "logged_at", "emitted_at",
)  # fmt: skip
"""The first that holds a time: ISO 8601 or another common shape, or seconds, ms, µs or ns since 1970."""
TRACE_NAMES: Final = (
    "error.stack_trace", "stack_trace", "exception.stacktrace", "exception.stack_trace", "exception", "stacktrace", "exc_info",
    "err.stack", "error.stack", "@x", "thrown.extendedStackTrace", "thrown.stackTrace", "stack", "errorVerbose", "exc_text", "traceback",
    "jsonPayload.stack_trace", "stackTrace", "exception.stackTrace", "Exception", "Exception.StackTrace",
    "Exception.StackTraceString", "exception.StackTraceString",
)  # fmt: skip
"""The first that is a string and not empty is the stack trace."""
TEMPLATE_NAMES: Final = (
    "@mt", "MessageTemplate", "messageTemplate", "State.{OriginalFormat}", "{OriginalFormat}", "message.template", "message_template.text",
    "sentry.message.template", "labels.MessageTemplate",
)  # fmt: skip
"""The first that is a string and not empty is the source template: those of Serilog's formatters, of .NET's JSON console, of OpenTelemetry
for .NET and for Serilog, of Sentry, of Elastic's formatter for Serilog. `log.record.template` is none of them: who writes it may have made
it of the lines seen so far, so that it differs from one worker to the next."""
TEMPLATE_LOGGER_NAMES: Final = ("Category", "CategoryName", "categoryName")
"""Names of the logger that mean it only beside a source template."""

SECONDS_AND_NANOS: Final = (("instant.epochSecond", "instant.nanoOfSecond"), ("timestamp.seconds", "timestamp.nanos"))
"""Times in two fields: whole seconds since 1970, and the nanoseconds after them."""
DATES_AND_ZONES: Final = (("datetime.date", "datetime.timezone"),)
"""Times in two fields as PHP writes them: date and time of day, and the zone that they are of."""
LATE_TIME_NAMES: Final = ("lastTimestamp", "timegenerated", "EventReceivedTime", "receiveTimestamp", "ingestionTime")
"""Times of what came after the entry was logged: they count where nothing else does."""
TIMES_BESIDE: Final = (("start_time", "response_code"), ("CreationTime", "Workload"), ("published", "eventType"))
"""Names that are the entry's time only beside another field: Envoy's, Microsoft 365's, Okta's."""
LOGGERS_BESIDE: Final = (("name", "levelname"), ("channel", "level_name"), ("target", "fields.message"), ("c", "t.$date"))
"""Names that are the logger only beside another field: Python's, Monolog's, tracing's, MongoDB's."""
NUMBER_NAMES: Final = ("severity_number", "severityNumber", "SeverityNumber")
"""OTLP's number of a level, from 1 to 24."""
SYSLOG_NAMES: Final = ("PRIORITY", "log.syslog.severity.code", "syslog_severity_code", "syslogseverity")
"""Syslog's number of a severity, from 0 to 7."""
PYTHON_NUMBER = "levelno"
LEVEL_REPEATED: Final = frozenset({*NUMBER_NAMES, PYTHON_NUMBER, "level_value", "levelNumber", "SeverityValue"})
"""What says again in numbers which level an entry has: not kept where it has one."""
OF_PINO: Final = ("hostname", "time", "msg")
"""What pino and bunyan write besides `pid`, a number."""
PROCESS, SYSTEMD_UNIT, NAME, PYTHON_LEVEL = "pid", "_SYSTEMD_UNIT", "name", "levelname"
TIME_OF_CLEF, JOURNAL_MESSAGE = "@t", "MESSAGE"
RENDERED: Final = {"@mt": "", "MessageTemplate": "Properties"}
"""Texts that are message templates, and where their values are: beside them, or within an object of this name."""
SHORT_MESSAGE, FULL_MESSAGE = "short_message", "full_message"
