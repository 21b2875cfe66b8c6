// Writes golden files of Java's loggers: Log4j's layouts of JSON (ECS, GELF, Logstash, Google Cloud, its own) and of RFC 5424, and logback
// with logstash-logback-encoder.
//
// Run it with log4j-core and log4j-layout-template-json 2.24.3, logback-classic 1.5.16 and logstash-logback-encoder 8.0 in the folder lib:
// `java -cp 'lib/*' JavaLoggers.java GOLDEN_FOLDER`. What is expected is written here from what is logged; nothing of it is taken from a
// decoder.

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.LoggingEvent;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.StringWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import net.logstash.logback.argument.StructuredArguments;
import net.logstash.logback.encoder.LogstashEncoder;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.DefaultConfiguration;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.core.layout.Rfc5424Layout;
import org.apache.logging.log4j.core.AbstractLifeCycle;
import org.apache.logging.log4j.layout.template.json.JsonTemplateLayout;
import org.apache.logging.log4j.message.SimpleMessage;
import org.apache.logging.log4j.util.SortedArrayStringMap;

public class JavaLoggers {
    static final long LOGGED_MS = 1779999000125L;
    static final ObjectMapper JSON = new ObjectMapper();
    static final String LOGGER = "shop.Cart";

    record Logged(String level, String message, Map<String, String> context, Throwable error) {}

    static final List<Logged> LOGGED = List.of(
            new Logged("INFO", "added 3 of sku-77", Map.of(), null),
            new Logged("WARN", "stock is low: é 語 🛒", Map.of("sku", "sku-77", "trace_id", "0af7651916cd43dd8448eb211c80319c"), null),
            new Logged("ERROR", "could not add", Map.of("sku", "sku-78"), raised()),
            new Logged("DEBUG", "a query:\nselect *\n  from carts", Map.of(), null),
            new Logged("TRACE", "of no use", Map.of(), null));

    static Throwable raised() {
        Throwable error = new IllegalStateException("no such sku");
        error.setStackTrace(new StackTraceElement[] {
            new StackTraceElement("shop.Cart", "add", "Cart.java", 42), new StackTraceElement("shop.Main", "main", "Main.java", 7)
        });
        return error;
    }

    static String stack(Throwable error) {
        StringWriter out = new StringWriter();
        error.printStackTrace(new PrintWriter(out));
        return out.toString();
    }

    static Map<String, Object> entry(Logged one, String service, Map<String, Object> fields, String trace) {
        Map<String, Object> made = new LinkedHashMap<>();
        made.put("text", one.message());
        made.put("time_ms", LOGGED_MS);
        made.put("level", one.level());
        made.put("service", service);
        made.put("fields", fields);
        made.put("trace", trace == null ? null : "\n" + trace);
        return made;
    }

    static void write(String folder, String name, String producer, List<byte[]> values, List<Map<String, Object>> expected) throws Exception {
        StringBuilder out = new StringBuilder();
        Map<String, Object> head = new LinkedHashMap<>();
        head.put("producer", producer);
        head.put("made_by", "tests/golden/make/JavaLoggers.java");
        head.put("written_from_documentation", false);
        out.append(JSON.writeValueAsString(head)).append('\n');
        for (int row = 0; row < values.size(); row++) {
            Map<String, Object> made = new LinkedHashMap<>();
            made.put("value_base64", Base64.getEncoder().encodeToString(values.get(row)));
            made.put("headers", List.of());
            made.put("kafka_ms", 1780000000000L);
            made.put("format", "auto");
            made.put("expected", List.of(expected.get(row)));
            out.append(JSON.writeValueAsString(made)).append('\n');
            System.out.println(name + " " + new String(values.get(row), StandardCharsets.UTF_8).strip());
        }
        Files.writeString(Path.of(folder, name + ".jsonl"), out);
    }

    static Log4jLogEvent log4jEvent(Logged one) {
        SortedArrayStringMap context = new SortedArrayStringMap();
        one.context().forEach(context::putValue);
        return Log4jLogEvent.newBuilder()
                .setLoggerName(LOGGER)
                .setLoggerFqcn("shop.Fqcn")
                .setLevel(Level.valueOf(one.level()))
                .setMessage(new SimpleMessage(one.message()))
                .setContextData(context)
                .setThrown(one.error())
                .setThreadName("main")
                .setThreadId(1)
                .setTimeMillis(LOGGED_MS)
                .build();
    }

    interface Expect {
        Map<String, Object> of(Logged one);
    }

    static void ofTemplate(String folder, String name, String template, List<Logged> logged, Expect expect) throws Exception {
        DefaultConfiguration configuration = new DefaultConfiguration();
        configuration.getProperties().put("hostName", "web-1");
        JsonTemplateLayout layout = JsonTemplateLayout.newBuilder()
                .setConfiguration(configuration)
                .setEventTemplateUri("classpath:" + template)
                .setLocationInfoEnabled(false)
                .build();
        List<byte[]> values = new ArrayList<>();
        List<Map<String, Object>> expected = new ArrayList<>();
        for (Logged one : logged) {
            values.add(layout.toByteArray(log4jEvent(one)));
            expected.add(expect.of(one));
        }
        write(folder, name, "log4j-layout-template-json 2.24.3, " + template, values, expected);
    }

    static Map<String, Object> fields(Object... pairs) {
        Map<String, Object> made = new HashMap<>();
        for (int at = 0; at < pairs.length; at += 2) made.put((String) pairs[at], pairs[at + 1]);
        return made;
    }

    static Map<String, Object> with(Map<String, Object> fields, String prefix, Logged one) {
        one.context().forEach((key, value) -> fields.put(key.equals("trace_id") ? key : prefix + key, value));
        return fields;
    }

    static String trace(Logged one) {
        return one.error() == null ? null : stack(one.error());
    }

    static Map<String, Object> gcp(Logged one) {
        Map<String, Object> kept = fields(
                "logger", LOGGER, "thread", "main", "logging.googleapis.com/trace_sampled", true,
                "logging.googleapis.com/insertId", String.valueOf(LOGGED.indexOf(one)));
        one.context().forEach((key, value) -> kept.put("logging.googleapis.com/labels." + key, value));
        if (one.context().containsKey("trace_id")) kept.put("trace_id", one.context().get("trace_id"));
        if (one.level().equals("WARN")) kept.put("level.original", "WARNING");
        String text = one.message();
        if (one.error() != null) {
            kept.putAll(fields("exception.class", "java.lang.IllegalStateException", "exception.message", "no such sku"));
            text += " " + located(one);
        }
        String level = one.level().equals("TRACE") ? "DEBUG" : one.level();
        return entry(new Logged(level, text.replaceAll("\\n$", ""), one.context(), null), "", kept, null);
    }

    // The stack trace as Log4j's pattern %xEx writes it, with the archives of the classes.
    static String located(Logged one) {
        return stack(one.error()).replaceAll("\\.java:(\\d+)\\)", ".java:$1) ~[?:?]");
    }

    static void ofLogback(String folder) throws Exception {
        LoggerContext context = new LoggerContext();
        LogstashEncoder encoder = new LogstashEncoder();
        encoder.setContext(context);
        encoder.setTimeZone("UTC");
        encoder.setCustomFields("{\"service\":\"cart\"}");
        encoder.start();
        List<byte[]> values = new ArrayList<>();
        List<Map<String, Object>> expected = new ArrayList<>();
        for (Logged one : LOGGED) {
            LoggingEvent event = new LoggingEvent(
                    "shop.Fqcn", context.getLogger(LOGGER), ch.qos.logback.classic.Level.valueOf(one.level()), one.message(), one.error(),
                    new Object[] {StructuredArguments.keyValue("left", 2)});
            event.setInstant(Instant.ofEpochMilli(LOGGED_MS));
            event.setThreadName("main");
            event.setMDCPropertyMap(one.context());
            values.add(encoder.encode(event));
            Map<String, Object> kept = with(fields("logger", LOGGER, "thread_name", "main", "@version", "1", "left", 2), "", one);
            expected.add(entry(one, "cart", kept, trace(one)));
        }
        write(folder, "logback", "logstash-logback-encoder 8.0 on logback 1.5.16", values, expected);
    }

    static void ofRfc5424(String folder) throws Exception {
        Rfc5424Layout layout = new Rfc5424Layout.Rfc5424LayoutBuilder()
                .setConfiguration(new DefaultConfiguration())
                .setAppName("cart")
                .setMessageId("audit")
                .setIncludeMDC(true)
                .setMdcId("mdc")
                .setIncludeNL(true)
                .setExceptionPattern("%xEx{full}")
                .build();
        List<byte[]> values = new ArrayList<>();
        List<Map<String, Object>> expected = new ArrayList<>();
        for (Logged one : LOGGED) {
            String value = layout.toSerializable(log4jEvent(one));
            values.add(value.getBytes(StandardCharsets.UTF_8));
            Map<String, Object> kept = fields(
                    "host.name", "localhost", "syslog.facility", "local0", "syslog.msgid", "audit", "process.pid", ProcessHandle.current().pid());
            one.context().forEach((key, val) -> kept.put("sd.mdc@32473." + key, val));
            String level = one.level().equals("TRACE") ? "DEBUG" : one.level();
            String text = one.error() == null ? one.message() : one.message() + "\n" + located(one);
            expected.add(entry(new Logged(level, text, one.context(), null), "cart", kept, null));
        }
        write(folder, "log4j_rfc5424", "log4j-core 2.24.3, Rfc5424Layout", values, expected);
    }

    public static void main(String[] args) throws Exception {
        String folder = args[0];
        Map<String, Integer> syslog = Map.of("TRACE", 7, "DEBUG", 7, "INFO", 6, "WARN", 4, "ERROR", 3);
        ofTemplate(folder, "log4j_ecs", "EcsLayout.json", LOGGED, one -> {
            Map<String, Object> kept = with(fields("ecs.version", "1.2.0", "logger", LOGGER, "process.thread.name", "main"), "", one);
            if (one.error() != null) kept.putAll(fields("error.type", "java.lang.IllegalStateException", "error.message", "no such sku"));
            return entry(one, "", kept, trace(one));
        });
        ofTemplate(folder, "log4j_gelf", "GelfLayout.json", LOGGED, one -> {
            int number = syslog.get(one.level());
            Map<String, Object> kept = fields(
                    "host.name", "web-1", "logger", LOGGER, "thread", "main", "version", "1.1", "level.original", number);
            String level = number == 7 ? "DEBUG" : one.level();
            String trace = one.error() == null ? null : stack(one.error()).strip();
            return entry(new Logged(level, one.message(), one.context(), null), "", with(kept, "", one), trace);
        });
        ofTemplate(folder, "log4j_logstash", "LogstashJsonEventLayoutV1.json", LOGGED, one -> {
            Map<String, Object> kept = with(fields("source_host", "web-1", "logger", LOGGER, "thread_name", "main", "@version", 1), "mdc.", one);
            if (one.error() != null) {
                kept.putAll(fields("exception.exception_class", "java.lang.IllegalStateException", "exception.exception_message", "no such sku"));
            }
            return entry(one, "", kept, trace(one));
        });
        ofTemplate(folder, "log4j_gcp", "GcpLayout.json", LOGGED, JavaLoggers::gcp);
        // The stack trace of this template is an array of objects.
        List<Logged> withoutErrors = LOGGED.stream().filter(one -> one.error() == null).toList();
        ofTemplate(folder, "log4j_json", "JsonLayout.json", withoutErrors, one -> entry(
                one, "", with(fields("logger", LOGGER, "thread", "main", "threadId", 1, "threadPriority", 5, "endOfBatch", false,
                        "loggerFqcn", "shop.Fqcn"), "contextMap.", one), null));
        ofLogback(folder);
        ofRfc5424(folder);
    }
}
