// Writes golden files of what container runtimes make of a container's output: Docker's json-file and containerd's CRI logger.
//
// containerd's logger is internal, so it is built inside of containerd's own module: copy the module
// github.com/containerd/containerd/v2 v2.1.4 to a folder that may be written to, this file to its folder cmd/golden, then
// `go get github.com/docker/docker@v28.5.2+incompatible && go build -o golden ./cmd/golden && ./golden GOLDEN_FOLDER`. What is expected is
// written here from what is logged; nothing of it is taken from a decoder.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	cri "github.com/containerd/containerd/v2/internal/cri/io"
	"github.com/docker/docker/api/types/backend"
	"github.com/docker/docker/daemon/logger"
	"github.com/docker/docker/daemon/logger/jsonfilelog"
)

const loggedMs = 1779999000125

type entry struct {
	Text    string         `json:"text"`
	TimeMs  int64          `json:"time_ms"`
	Level   string         `json:"level"`
	Service string         `json:"service"`
	Fields  map[string]any `json:"fields"`
	Trace   *string        `json:"trace"`
}

type record struct {
	Value    string   `json:"value_base64"`
	Headers  []string `json:"headers"`
	KafkaMs  int64    `json:"kafka_ms"`
	Format   string   `json:"format"`
	Expected []entry  `json:"expected"`
}

type printed struct{ stream, line, text, level string }

// What the container prints, a line each, and what it means.
var output = []printed{
	{"stdout", "added 3 of sku-77", "", ""},
	{"stderr", "ERROR could not add sku-78", "", "ERROR"},
	{"stdout", "stock is low: é 語 🛒 \"quoted\" \\ <b>", "", ""},
	{"stderr", "\x1b[33mWARN\x1b[0m in colour", "WARN in colour", "WARN"},
	{"stdout", "  at the end of a line\r", "  at the end of a line", ""},
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func write(name, producer string, values []string, expected []entry) {
	if len(values) != len(expected) {
		panic(name + ": " + strings.Join(values, "|"))
	}
	var file bytes.Buffer
	encoder := json.NewEncoder(&file)
	check(encoder.Encode(map[string]any{"producer": producer, "made_by": "tests/golden/make/container_loggers.go", "written_from_documentation": false}))
	for row, value := range values {
		check(encoder.Encode(record{base64.StdEncoding.EncodeToString([]byte(value)), []string{}, expected[row].TimeMs + 1500, "auto", expected[row : row+1]}))
		os.Stdout.WriteString(value)
	}
	check(os.WriteFile(filepath.Join(os.Args[1], name+".jsonl"), file.Bytes(), 0o644))
}

func text(one printed) string {
	if one.text == "" {
		return one.line
	}
	return one.text
}

func ofDocker() {
	folder, err := os.MkdirTemp("", "docker")
	check(err)
	path := filepath.Join(folder, "container.log")
	log, err := jsonfilelog.New(logger.Info{ContainerID: "c1", LogPath: path, Config: map[string]string{"tag": "cart"}})
	check(err)
	var expected []entry
	at := time.UnixMilli(loggedMs).UTC()
	for _, one := range output {
		check(log.Log(&logger.Message{Line: []byte(one.line), Source: one.stream, Timestamp: at}))
		expected = append(expected, entry{text(one), loggedMs, one.level, "", map[string]any{"stream": one.stream, "attrs.tag": "cart"}, nil})
	}
	// A line of more than 16 KiB comes in pieces.
	check(log.Log(&logger.Message{Line: []byte("a piece"), Source: "stdout", Timestamp: at, PLogMetaData: &backend.PartialLogMetaData{ID: "p"}}))
	expected = append(expected, entry{"a piece", loggedMs, "", "", map[string]any{"stream": "stdout", "attrs.tag": "cart"}, nil})
	check(log.Close())
	made, err := os.ReadFile(path)
	check(err)
	write("docker_json_file", "docker 28.5.2, json-file", strings.SplitAfter(strings.TrimSuffix(string(made), "\n"), "\n"), expected)
}

type file struct{ bytes.Buffer }

func (*file) Close() error { return nil }

// The logger takes its time from the clock: it is read from what it wrote, by Go.
func ofContainerd() {
	var values []string
	var expected []entry
	lines := append([]printed{}, output...)
	lines = append(lines, printed{"stdout", strings.Repeat("x", 20), "", ""})
	for _, one := range lines {
		var out file
		reader, done := cri.NewCRILogger("golden", &out, cri.StreamType(one.stream), 512)
		if one.line[0] == 'x' {
			reader, done = cri.NewCRILogger("golden", &out, cri.StreamType(one.stream), 12)
		}
		_, err := io.WriteString(reader, one.line+"\n")
		check(err)
		check(reader.Close())
		<-done
		rest := text(one)
		for _, value := range strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n") {
			stamp, _, _ := strings.Cut(value, " ")
			at, err := time.Parse(time.RFC3339Nano, stamp)
			check(err)
			kept := map[string]any{"log.iostream": one.stream}
			piece := rest
			if strings.Contains(value, " P ") {
				kept["cri.partial"] = true
				piece = strings.TrimSuffix(value[strings.Index(value, " P ")+3:], "\n")
				rest = rest[len(piece):]
			}
			values = append(values, value)
			expected = append(expected, entry{piece, at.UnixMilli(), one.level, "", kept, nil})
		}
	}
	write("containerd_cri", "containerd 2.1.4, CRI", values, expected)
}

func main() {
	ofDocker()
	ofContainerd()
}
