// What one worker says of itself on the Lag tab: conditions, dependencies, engine, savings, the embedding service, assignments, recent errors.

import { card, moment, prose, verdict } from "./card.js";
import { clear, el } from "./dom.js";
import { bytes, compact, duration, number, percent, plural, relative, time } from "./format.js";
import { visible } from "./log_text.js";
import { modelChange } from "./model_change.js";
import { servedModelsCard } from "./served_models.js";
import { dataTable } from "./table.js";

/** What it means that a dependency is away. */
const WITHOUT = /** @type {Record<string, string>} */ ({
  kafka: "Nothing new is read, and queries over Kafka wait. Searches here go on.",
  index: "Nothing can be searched or stored; reading pauses, and nothing is lost.",
  redis: "Vectors are computed again instead of read from the cache: slower, but nothing is missing.",
  registry: "Records whose schema is not known yet wait.",
  engine: "Lines of new templates wait, and questions are answered by words only.",
});

/** @returns {{first: HTMLElement, rest: HTMLElement, show: (status: any, oldSince: string, change: any) => void}} */
export function workerCards() {
  const conditions = card("Conditions");
  const dependencies = card("Dependencies");
  const savings = card("Savings by topic", { class: "wide" });
  const engine = card("Engine and index");
  const errors = card("Recent warnings and errors");
  const assignments = card("Assignments of this worker");
  const served = servedModelsCard();
  const all = [conditions, dependencies, savings, served, engine, errors, assignments];
  const table = savingsTable();
  const healthy = el("details", { class: "healthy" });
  const first = el("div", { class: "pair", hidden: true }, conditions.node, dependencies.node);
  const rest = el("div", { class: "pair", hidden: true }, savings.node, served.node, engine.node, errors.node, assignments.node);
  return {
    first,
    rest,
    show(status, oldSince, change) {
      first.hidden = rest.hidden = status === null;
      if (status === null) return;
      for (const one of all) {
        one.note.textContent = oldSince === "" ? `of ${status.worker}` : `of ${status.worker}, as it was at ${oldSince}`;
        one.node.classList.toggle("old", oldSince !== "");
      }
      showConditions(conditions.body, healthy, status.conditions ?? []);
      showDependencies(dependencies.body, status);
      table.show(savings.body, status.savings ?? [], status.indexes !== false);
      showEngine(engine.body, status, change);
      served.show(status.served_models ?? []);
      showErrors(errors.body, status.errors ?? []);
      showAssignments(assignments.body, status.assignments ?? []);
    },
  };
}

/** @param {HTMLElement} body @param {HTMLElement} healthy stays, so that it stays open @param {any[]} conditions */
function showConditions(body, healthy, conditions) {
  const firing = conditions.filter((one) => one.state === "firing").sort((one) => (one.severity === "critical" ? -1 : 1));
  const calm = conditions.filter((one) => one.state !== "firing");
  clear(
    healthy,
    healthy.querySelector("summary") ?? el("summary", {}),
    el("ul", { class: "plain-list" }, calm.map((one) => el("li", {}, verdict("ok", one.name), el("span", { class: "quiet" }, prose(one.summary))))),
  );
  /** @type {HTMLElement} */ (healthy.firstElementChild).textContent = `${plural(calm.length, "condition")} that ${calm.length === 1 ? "is" : "are"} fine`;
  healthy.hidden = calm.length === 0;
  clear(
    body,
    firing.length === 0 ? el("p", {}, verdict("ok", "Nothing that this worker can judge is wrong.")) : el("ul", { class: "conditions" }, firing.map(firingCondition)),
    healthy,
    el("p", { class: "quiet small" }, "The same conditions are alert rules for Prometheus, which also judges what one worker cannot know."),
  );
}

/** @param {any} one */
function firingCondition(one) {
  const kind = one.severity === "critical" ? "bad" : "warn";
  return el(
    "li",
    { "data-severity": one.severity },
    el("div", { class: "row" }, verdict(kind, one.severity), el("strong", {}, one.name), one.since_ms ? el("span", { class: "quiet" }, `since ${time(one.since_ms)} (${relative(one.since_ms)})`) : null),
    el("p", {}, prose(one.summary)),
    el("p", {}, el("span", { class: "do" }, "What to do: "), prose(one.what_to_do)),
    [one.look_at ?? []].flat().map((command) => el("p", {}, el("code", {}, visible(String(command))))),
  );
}

/** @param {HTMLElement} body @param {any} status */
function showDependencies(body, status) {
  const ready = String(status.ready?.status ?? "unknown");
  const checks = Object.entries(status.ready?.checks ?? {});
  const dependencies = status.dependencies ?? [];
  const named = new Set(dependencies.map((/** @type {any} */ one) => one.name));
  const others = checks.filter(([name, result]) => result !== "ok" && !named.has(name));
  const dead = Object.entries(status.alive?.checks ?? {}).filter(([, result]) => result !== "ok" && result !== status.phase);
  clear(
    body,
    el("p", { class: "row" }, verdict(ready === "ready" ? "ok" : ready === "degraded" ? "warn" : "bad", readiness(ready)), el("span", { class: "quiet" }, `up for ${duration(status.uptime_s)}, version ${status.version}`)),
    el("ul", { class: "dependencies" }, dependencies.map(dependency), [...others, ...dead].map(([name, result]) => el("li", {}, verdict("bad", name), el("span", {}, visible(String(result)))))),
  );
}

/** @param {string} ready */
function readiness(ready) {
  return { ready: "ready", degraded: "ready, but degraded", not_ready: "not ready" }[ready] ?? ready;
}

/** @param {any} one */
function dependency(one) {
  const isAway = one.state !== "ok";
  const since = one.since_ms ? ` since ${time(one.since_ms)} (${relative(one.since_ms)})` : "";
  const long = one.since_ms ? `, for ${duration((Date.now() - one.since_ms) / 1000)}` : "";
  return el(
    "li",
    {},
    verdict(isAway ? "bad" : "ok", one.name),
    isAway
      ? el("span", {}, el("strong", {}, `away${since}. `), one.reason ? [...visible(one.reason), ". "] : "", el("span", { class: "quiet" }, WITHOUT[one.name] ?? ""))
      : el("span", { class: "quiet" }, `answers${long}`),
  );
}

function savingsTable() {
  const table = dataTable(
    "Savings by topic",
    [
      { name: "Topic", value: (one) => one.topic, cell: (one) => visible(one.topic), class: "name" },
      { name: "Lines", value: (one) => one.lines, cell: (one) => compact(one.lines), class: "num" },
      { name: "Tokens", value: (one) => one.tokens, cell: (one) => compact(one.tokens), class: "num" },
      { name: "Tokens saved", value: (one) => one.tokens_saved, cell: (one) => compact(one.tokens_saved), class: "num" },
      { name: "Saved", value: (one) => one.saved_share, cell: (one) => percent(one.saved_share), class: "num" },
    ],
    { sort: "Lines" },
  );
  const empty = el("p", { class: "quiet" });
  return {
    /** @param {HTMLElement} body @param {any[]} savings @param {boolean} indexes */
    show(body, savings, indexes) {
      if (savings.length === 0) {
        empty.textContent = indexes ? "This worker has indexed no line since it started." : "This worker only answers questions: kafka.index is false.";
        clear(body, empty);
        return;
      }
      table.show(savings);
      if (table.node.parentElement !== body) clear(body, table.node);
    },
  };
}

/** @param {HTMLElement} body @param {any} status @param {any} change of the index's model; null while it has one */
function showEngine(body, status, change) {
  const { engine = {}, index = {} } = status;
  const canary = status.canary;
  const facts = [
    ["Engine", [verdict(engine.is_up ? "ok" : "bad", engine.is_up ? "up" : "being restarted"), ` ${engine.name}`]],
    ["Model", visible(engine.model)],
    change ? ["Model change", modelChange(change)] : null,
    ["Busy", typeof engine.busy_share === "number" ? `${percent(engine.busy_share)} of the last seconds` : "not known yet"],
    engine.restarts > 0 ? ["Restarts", number(engine.restarts)] : null,
    ["Embedded", `${plural(engine.templates ?? 0, "template")}, ${compact(engine.tokens ?? 0)} tokens`],
    ["Index", [index.blocks, index.templates].some((one) => one !== null && one !== undefined) ? indexed(index) : "not known"],
    typeof index.written_lines === "number" ? ["Written", `${plural(index.written_lines, "line")} by this worker`] : null,
    ["Masks", status.masks],
    canary ? ["Canary", `${number(canary.found ?? 0)} found, ${number(canary.lost ?? 0)} not within 60 s${typeof canary.p50_s === "number" ? `, half of them within ${duration(canary.p50_s)}` : ""}`] : null,
  ];
  clear(body, el("dl", { class: "pairs" }, facts.filter((one) => one !== null).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
}

/** @param {any} index */
function indexed(index) {
  const parts = [];
  if (typeof index.lines === "number") parts.push(plural(index.lines, "line"));
  if (typeof index.blocks === "number") parts.push(plural(index.blocks, "block"));
  if (typeof index.templates === "number") parts.push(plural(index.templates, "template"));
  if (typeof index.bytes === "number") parts.push(bytes(index.bytes));
  return parts.join(", ");
}

/** @param {HTMLElement} body @param {any[]} errors */
function showErrors(body, errors) {
  if (errors.length === 0) {
    clear(body, el("p", { class: "quiet" }, "It has logged no warning and no error since it started."));
    return;
  }
  const rows = errors.slice(0, 30).map((one) =>
    el(
      "li",
      {},
      el("span", { class: "level", "data-level": one.level.startsWith("warn") ? "WARN" : "ERROR" }, one.level.startsWith("warn") ? "WARN" : "ERROR"),
      el("span", { class: "quiet" }, moment(one.time_ms, time(one.time_ms))),
      el("bdi", { class: "log" }, visible(one.event)),
      one.count > 1 ? el("span", { class: "chip" }, `${number(one.count)} times`) : null,
    ),
  );
  clear(body, el("ul", { class: "errors" }, rows));
}

/** @param {HTMLElement} body @param {any[]} assignments */
function showAssignments(body, assignments) {
  if (assignments.length === 0) {
    clear(body, el("p", { class: "quiet" }, "Kafka has assigned no partition to this worker: there are more workers than partitions, or it is still joining."));
    return;
  }
  /** @type {Map<string, number[]>} */
  const byTopic = new Map();
  for (const { group, topic, partition } of assignments) {
    const key = `${group}\n${topic}`;
    byTopic.set(key, [...(byTopic.get(key) ?? []), partition]);
  }
  const items = [...byTopic].map(([key, partitions]) => {
    const [group, topic] = key.split("\n");
    return el("li", {}, el("strong", {}, visible(topic)), `: ${ranges(partitions)} `, el("span", { class: "quiet" }, "for group ", visible(group)));
  });
  clear(body, el("ul", { class: "plain-list" }, items));
}

/** [0, 1, 2, 5] → "0–2, 5". @param {number[]} numbers */
export function ranges(numbers) {
  /** @type {[number, number][]} */
  const spans = [];
  for (const one of [...numbers].sort((a, b) => a - b)) {
    const last = spans.at(-1);
    if (last && one === last[1] + 1) last[1] = one;
    else spans.push([one, one]);
  }
  return spans.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
}
