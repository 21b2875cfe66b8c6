// Writes golden files of Go's loggers: zap, zerolog, slog, logrus.
//
// Run it in a module with go.uber.org/zap v1.28.0, github.com/rs/zerolog v1.35.1 and github.com/sirupsen/logrus v1.10.2:
// `go build go_loggers.go && ./go_loggers GOLDEN_FOLDER`. What is expected is written here from what is logged; nothing of it is taken
// from a decoder.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
	"github.com/sirupsen/logrus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	loggedMs = 1779999000125
	wide     = "stock is low: é 語 🛒"
	lines    = "a query:\nselect *\n  from carts"
	stack    = "main.add\n\t/srv/cart.go:42\nmain.main\n\t/srv/main.go:7"
)

var logged = time.UnixMilli(loggedMs).UTC()

type fields map[string]any

type entry struct {
	Text    string  `json:"text"`
	TimeMs  int64   `json:"time_ms"`
	Level   string  `json:"level"`
	Service string  `json:"service"`
	Fields  fields  `json:"fields"`
	Trace   *string `json:"trace"`
}

type record struct {
	Value    string   `json:"value_base64"`
	Headers  []string `json:"headers"`
	KafkaMs  int64    `json:"kafka_ms"`
	Format   string   `json:"format"`
	Expected []entry  `json:"expected"`
}

type fixed struct{}

func (fixed) Now() time.Time                       { return logged }
func (fixed) NewTicker(time.Duration) *time.Ticker { return time.NewTicker(time.Hour) }

func one(text, level, service string, kept fields, trace ...string) entry {
	made := entry{text, loggedMs, level, service, kept, nil}
	if len(trace) > 0 {
		with := "\n" + trace[0]
		made.Trace = &with
	}
	return made
}

func write(name, producer, version, format string, out *bytes.Buffer, expected []entry) {
	values := bytes.SplitAfter(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
	if len(values) != len(expected) {
		panic(fmt.Sprintf("%s: %d lines, %d expected", name, len(values), len(expected)))
	}
	var file bytes.Buffer
	encoder := json.NewEncoder(&file)
	_ = encoder.Encode(fields{"producer": producer + " " + version, "made_by": "tests/golden/make/go_loggers.go", "written_from_documentation": false})
	for row, value := range values {
		_ = encoder.Encode(record{base64.StdEncoding.EncodeToString(value), []string{}, 1780000000000, format, expected[row : row+1]})
	}
	if err := os.WriteFile(filepath.Join(os.Args[1], name+".jsonl"), file.Bytes(), 0o644); err != nil {
		panic(err)
	}
	if len(os.Args) > 2 {
		fmt.Print(out.String())
	}
}

// Zap with its production settings: seconds as a float, and once with ISO 8601.
func ofZap(version string) {
	var out bytes.Buffer
	var expected []entry
	for _, timed := range []zapcore.TimeEncoder{zapcore.EpochTimeEncoder, zapcore.ISO8601TimeEncoder} {
		settings := zap.NewProductionEncoderConfig()
		settings.EncodeTime = timed
		core := zapcore.NewCore(zapcore.NewJSONEncoder(settings), zapcore.AddSync(&out), zapcore.DebugLevel)
		log := zap.New(core, zap.WithClock(fixed{})).Named("shop.cart").With(zap.String("service", "cart"))
		with := func(more fields) fields {
			more["logger"] = "shop.cart"
			return more
		}
		log.Info("added 3 of sku-77")
		log.Warn(wide, zap.String("sku", "sku-77"), zap.Int("left", 2), zap.Bool("urgent", true))
		if entered := log.Check(zapcore.ErrorLevel, "could not add"); entered != nil {
			entered.Stack = stack
			entered.Write(zap.String("sku", "sku-78"), zap.Error(errors.New("no such sku")))
		}
		log.Debug(lines, zap.Float64("ratio", 0.125), zap.Namespace("user"), zap.Int("id", 7))
		log.DPanic("out of memory")
		expected = append(expected,
			one("added 3 of sku-77", "INFO", "cart", with(fields{})),
			one(wide, "WARN", "cart", with(fields{"sku": "sku-77", "left": 2, "urgent": true})),
			one("could not add", "ERROR", "cart", with(fields{"sku": "sku-78", "error": "no such sku"}), stack),
			one(lines, "DEBUG", "cart", with(fields{"ratio": 0.125, "user.id": 7})),
			one("out of memory", "FATAL", "cart", with(fields{"level.original": "dpanic"})))
	}
	write("zap", "zap", version, "auto", &out, expected)
}

func ofZerolog(version string) {
	var out bytes.Buffer
	zerolog.TimestampFunc = func() time.Time { return logged }
	zerolog.TimeFieldFormat = time.RFC3339Nano
	zerolog.ErrorStackMarshaler = func(error) any { return stack }
	log := zerolog.New(&out).With().Timestamp().Str("service", "cart").Logger()
	log.Info().Msg("added 3 of sku-77")
	log.Warn().Str("sku", "sku-77").Int("left", 2).Bool("urgent", true).Msg(wide)
	log.Error().Stack().Err(errors.New("no such sku")).Str("sku", "sku-78").Msg("could not add")
	log.Debug().Float64("ratio", 0.125).Dict("user", zerolog.Dict().Int("id", 7)).Msg(lines)
	log.WithLevel(zerolog.FatalLevel).Msg("out of memory")
	log.Trace().Msg("of no use")
	zerolog.TimeFieldFormat = zerolog.TimeFormatUnixMs
	log.Info().Msg("in milliseconds")
	write("zerolog", "zerolog", version, "auto", &out, []entry{
		one("added 3 of sku-77", "INFO", "cart", fields{}),
		one(wide, "WARN", "cart", fields{"sku": "sku-77", "left": 2, "urgent": true}),
		one("could not add", "ERROR", "cart", fields{"sku": "sku-78", "error": "no such sku"}, stack),
		one(lines, "DEBUG", "cart", fields{"ratio": 0.125, "user.id": 7}),
		one("out of memory", "FATAL", "cart", fields{}),
		one("of no use", "TRACE", "cart", fields{}),
		one("in milliseconds", "INFO", "cart", fields{}),
	})
}

func logSlog(handler slog.Handler) {
	say := func(level slog.Level, message string, attributes ...slog.Attr) {
		made := slog.NewRecord(logged, level, message, 0)
		made.AddAttrs(attributes...)
		_ = handler.Handle(context.Background(), made)
	}
	say(slog.LevelInfo, "added 3 of sku-77")
	say(slog.LevelWarn, wide, slog.String("sku", "sku-77"), slog.Int("left", 2), slog.Bool("urgent", true))
	say(slog.LevelError, "could not add", slog.String("sku", "sku-78"), slog.Any("err", errors.New("no such sku")), slog.String("stack", stack))
	say(slog.LevelDebug, lines, slog.Float64("ratio", 0.125), slog.Group("user", slog.Int("id", 7)))
	say(slog.LevelInfo, "GET /carts/7", slog.Group("http", slog.Int("status_code", 503)))
}

func ofSlog() {
	var out, text bytes.Buffer
	all := &slog.HandlerOptions{Level: slog.LevelDebug}
	service := []slog.Attr{slog.String("service", "cart")}
	logSlog(slog.NewJSONHandler(&out, all).WithAttrs(service))
	write("slog", "log/slog of", runtime.Version(), "auto", &out, []entry{
		one("added 3 of sku-77", "INFO", "cart", fields{}),
		one(wide, "WARN", "cart", fields{"sku": "sku-77", "left": 2, "urgent": true}),
		one("could not add", "ERROR", "cart", fields{"sku": "sku-78", "err": "no such sku"}, stack),
		one(lines, "DEBUG", "cart", fields{"ratio": 0.125, "user.id": 7}),
		one("GET /carts/7", "INFO", "cart", fields{"http.response.status_code": 503}),
	})
	logSlog(slog.NewTextHandler(&text, all).WithAttrs(service))
	write("slog_text", "log/slog's text of", runtime.Version(), "logfmt", &text, []entry{
		one("added 3 of sku-77", "INFO", "cart", fields{}),
		one(wide, "WARN", "cart", fields{"sku": "sku-77", "left": "2", "urgent": "true"}),
		one("could not add", "ERROR", "cart", fields{"sku": "sku-78", "err": "no such sku"}, stack),
		one(lines, "DEBUG", "cart", fields{"ratio": "0.125", "user.id": "7"}),
		one("GET /carts/7", "INFO", "cart", fields{"http.response.status_code": 503}),
	})
}

func logLogrus(out *bytes.Buffer, formatter logrus.Formatter) {
	log := logrus.New()
	log.Out, log.Level, log.Formatter = out, logrus.TraceLevel, formatter
	at := log.WithTime(logged).WithField("service", "cart")
	at.Info("added 3 of sku-77")
	at.WithFields(logrus.Fields{"sku": "sku-77", "left": 2, "urgent": true}).Warn(wide)
	at.WithError(errors.New("no such sku")).WithFields(logrus.Fields{"sku": "sku-78", "stack": stack}).Error("could not add")
	at.WithField("ratio", 0.125).Debug(lines)
	at.Trace("of no use")
	at.Log(logrus.FatalLevel, "out of memory")
}

func ofLogrus(version string) {
	var out, text bytes.Buffer
	logLogrus(&out, &logrus.JSONFormatter{TimestampFormat: time.RFC3339Nano})
	write("logrus", "logrus", version, "auto", &out, []entry{
		one("added 3 of sku-77", "INFO", "cart", fields{}),
		one(wide, "WARN", "cart", fields{"sku": "sku-77", "left": 2, "urgent": true, "level.original": "warning"}),
		one("could not add", "ERROR", "cart", fields{"sku": "sku-78", "error": "no such sku"}, stack),
		one(lines, "DEBUG", "cart", fields{"ratio": 0.125}),
		one("of no use", "TRACE", "cart", fields{}),
		one("out of memory", "FATAL", "cart", fields{}),
	})
	logLogrus(&text, &logrus.TextFormatter{TimestampFormat: time.RFC3339Nano, DisableColors: true})
	write("logrus_text", "logrus's text", version, "logfmt", &text, []entry{
		one("added 3 of sku-77", "INFO", "cart", fields{}),
		one(wide, "WARN", "cart", fields{"sku": "sku-77", "left": "2", "urgent": "true", "level.original": "warning"}),
		one("could not add", "ERROR", "cart", fields{"sku": "sku-78", "error": "no such sku"}, stack),
		one(lines, "DEBUG", "cart", fields{"ratio": "0.125"}),
		one("of no use", "TRACE", "cart", fields{}),
		one("out of memory", "FATAL", "cart", fields{}),
	})
}

func main() {
	versions := map[string]string{}
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		versions[filepath.Base(module.Path)] = module.Version
	}
	ofZap(versions["zap"])
	ofZerolog(versions["zerolog"])
	ofSlog()
	ofLogrus(versions["logrus"])
}
