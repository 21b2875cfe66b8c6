// Writes golden files of Node's loggers: pino, bunyan, winston, @elastic/ecs-pino-format.
//
// Run it in a folder with pino 10.4.0, bunyan 2.0.5, winston 3.19.0 and @elastic/ecs-pino-format 1.5.0 in node_modules:
// `node node_loggers.mjs GOLDEN_FOLDER`. What is expected is written here from what is logged; nothing of it is taken from a decoder.

import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { Writable } from "node:stream";
import os from "node:os";
import path from "node:path";

const need = createRequire(path.join(process.cwd(), "x.js"));
const LOGGED_MS = 1779999000125;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length ? args : [LOGGED_MS]));
  }
  static now() {
    return LOGGED_MS;
  }
};
os.hostname = () => "web-1";

const STACK = "Error: no such sku\n    at add (/srv/cart.js:42:9)\n    at main (/srv/main.js:7:3)";
function raised() {
  const error = new Error("no such sku");
  error.stack = STACK;
  return error;
}

// What each producer logs: level, message, extra fields, whether there is an error.
const LOGGED = [
  ["info", "added 3 of sku-77", {}, false],
  ["warn", "stock is low: é 語 🛒", { sku: "sku-77", left: 2, urgent: true }, false],
  ["error", "could not add", { sku: "sku-78" }, true],
  ["debug", "a query:\nselect *\n  from carts", { ratio: 0.125, user: { id: 7 } }, false],
  ["fatal", "out of memory", {}, false],
];
const TENS = { debug: 20, info: 30, warn: 40, error: 50, fatal: 60 };

function flat(extra) {
  const { user, ...rest } = extra;
  return user ? { ...rest, "user.id": user.id } : rest;
}
function entry(text, level, service, fields, trace = null) {
  return { text, time_ms: LOGGED_MS, level: level.toUpperCase(), service, fields, trace };
}
class Lines extends Writable {
  lines = [];
  _write(chunk, _encoding, done) {
    this.lines.push(chunk.toString());
    done();
  }
}

function ofPino() {
  const out = new Lines();
  const log = need("pino")({ name: "cart", level: "trace" }, out);
  const expected = LOGGED.map(([level, message, extra, hasError]) => {
    log[level](hasError ? { ...extra, err: raised() } : extra, message);
    const fields = { pid: process.pid, "host.name": "web-1", "level.original": TENS[level], ...flat(extra) };
    if (hasError) Object.assign(fields, { "err.type": "Error", "err.message": "no such sku" });
    return entry(message, level, "cart", fields, hasError ? "\n" + STACK : null);
  });
  return [out.lines, expected];
}

function ofBunyan() {
  const out = new Lines();
  const bunyan = need("bunyan");
  const log = bunyan.createLogger({ name: "cart", hostname: "web-1", level: "trace", stream: out, serializers: bunyan.stdSerializers });
  const expected = LOGGED.map(([level, message, extra, hasError]) => {
    log[level](hasError ? { ...extra, err: raised() } : extra, message);
    const fields = { pid: process.pid, v: 0, "host.name": "web-1", "level.original": TENS[level], ...flat(extra) };
    if (hasError) Object.assign(fields, { "err.name": "Error", "err.message": "no such sku" });
    return entry(message, level, "cart", fields, hasError ? "\n" + STACK : null);
  });
  return [out.lines, expected];
}

function ofWinston() {
  const out = new Lines();
  const { createLogger, format, transports } = need("winston");
  const log = createLogger({
    level: "silly",
    defaultMeta: { service: "cart" },
    format: format.combine(format.errors({ stack: true }), format.timestamp(), format.json()),
    transports: [new transports.Stream({ stream: out })],
  });
  const expected = LOGGED.filter(([level]) => level !== "fatal").map(([level, message, extra, hasError]) => {
    if (hasError) {
      const error = raised();
      log.error(error);
      return entry("no such sku", level, "cart", {}, "\n" + STACK);
    }
    log.log({ level, message, ...extra });
    return entry(message, level, "cart", flat(extra));
  });
  log.log({ level: "silly", message: "of no use" });
  expected.push(entry("of no use", "trace", "cart", { "level.original": "silly" }));
  log.http("GET /carts/7");
  expected.push(entry("GET /carts/7", "info", "cart", { "level.original": "http" }));
  return [out.lines, expected];
}

function ofEcsPino() {
  const out = new Lines();
  const { ecsFormat } = need("@elastic/ecs-pino-format");
  const log = need("pino")({ level: "trace", ...ecsFormat({ serviceName: "cart", apmIntegration: false }) }, out);
  const expected = LOGGED.map(([level, message, extra, hasError]) => {
    log[level](hasError ? { ...extra, err: raised() } : extra, message);
    const fields = { "process.pid": process.pid, "host.name": "web-1", "ecs.version": "8.10.0", "event.dataset": "cart", ...flat(extra) };
    if (hasError) Object.assign(fields, { "error.type": "Error", "error.message": "no such sku" });
    return entry(message, level, "cart", fields, hasError ? "\n" + STACK : null);
  });
  return [out.lines, expected];
}

const folder = process.argv[2];
for (const [name, producer, make] of [
  ["pino", "pino", ofPino],
  ["bunyan", "bunyan", ofBunyan],
  ["winston", "winston", ofWinston],
  ["ecs_pino", "@elastic/ecs-pino-format", ofEcsPino],
]) {
  const [values, expected] = make();
  if (values.length !== expected.length) throw new Error(`${name}: ${values.length} lines, ${expected.length} expected`);
  if (process.argv[3] === "-v") process.stdout.write(values.join(""));
  const version = JSON.parse(readFileSync(path.join(process.cwd(), "node_modules", producer, "package.json"))).version;
  const head = { producer: `${producer} ${version}`, made_by: "tests/golden/make/node_loggers.mjs", written_from_documentation: false };
  const records = values.map((value, row) => ({
    value_base64: Buffer.from(value).toString("base64"),
    headers: [],
    kafka_ms: 1780000000000,
    format: "auto",
    expected: [expected[row]],
  }));
  writeFileSync(path.join(folder, `${name}.jsonl`), [head, ...records].map((line) => JSON.stringify(line) + "\n").join(""));
}
