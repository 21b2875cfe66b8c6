// The Doctor tab: every check of the set-up, what is wrong first, with what to do. The same checks as `vectail doctor`.

import { get } from "./api.js";
import { card, prose, verdict } from "./card.js";
import { clear, el } from "./dom.js";
import { duration, plural, time } from "./format.js";
import { statusLine } from "./status.js";

const GROUPS = /** @type {Record<string, string>} */ ({ kafka: "Kafka", redis: "Redis", milvus: "Milvus", model: "Model and engine", serve: "Embedding service", versions: "Versions", machine: "Machine", settings: "Settings" });
const ORDER = ["problem", "warning", "ok"];
const KINDS = /** @type {Record<string, "ok" | "warn" | "bad">} */ ({ ok: "ok", warning: "warn", problem: "bad" });

/** @param {HTMLElement} view */
export function open(view) {
  const status = statusLine();
  const run = el("button", { type: "button", class: "primary", onclick: start }, "Run again");
  const copy = el("button", { type: "button", disabled: true, onclick: copyText }, "Copy as text");
  const results = el("div", { class: "stack" });
  /** @type {any} */
  let answer = null;
  let asking = new AbortController();
  clear(
    view,
    el("h1", { class: "visually-hidden" }, "Doctor"),
    el("div", { class: "doctor" }, el("div", { class: "bar-of-buttons" }, el("div", { class: "grow" }, status.node), el("div", { class: "row" }, run, copy)), results),
  );

  async function start() {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    run.disabled = copy.disabled = true;
    results.classList.toggle("old", answer !== null);
    status.busy("Looking at Kafka, Redis, Milvus, the model and this machine. This takes a few seconds …");
    try {
      answer = await get("/api/doctor", {}, { signal });
      show();
    } catch (error) {
      if (signal.aborted) return;
      status.problem(error, start);
    }
    run.disabled = false;
    copy.disabled = answer === null;
  }

  function show() {
    results.classList.remove("old");
    status.say(el("strong", {}, summaryOf(answer.checks)), ` ${plural(answer.checks.length, "check")} in ${duration(answer.seconds)}, at ${time(answer.asked_ms)}.`);
    clear(results, wrongCard(answer.checks), Object.entries(byGroup(answer.checks)).map(([group, checks]) => groupCard(group, checks)));
  }

  async function copyText() {
    const text = asText(answer);
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      showText(text);
    }
    setTimeout(() => (copy.textContent = "Copy as text"), 2000);
  }

  start();
  return {
    update() {},
    close() {
      asking.abort();
      status.close();
    },
  };
}

/** @param {any[]} checks */
function summaryOf(checks) {
  const problems = checks.filter((one) => one.state === "problem").length;
  const warnings = checks.filter((one) => one.state === "warning").length;
  if (problems + warnings === 0) return "Nothing is wrong.";
  const parts = [problems > 0 ? plural(problems, "problem") : "", warnings > 0 ? plural(warnings, "warning") : ""];
  return `${parts.filter(Boolean).join(" and ")}.`;
}

/** Return the problems and warnings of all groups in one card, or nothing. @param {any[]} checks */
function wrongCard(checks) {
  const wrong = worstFirst(checks.filter((one) => one.state !== "ok"));
  if (wrong.length === 0) return null;
  const { node, body } = card("What to do", { class: "wrong-checks" });
  clear(body, el("ul", { class: "checks" }, wrong.map((one) => checkItem(one, true))));
  return node;
}

/** @param {string} group @param {any[]} checks */
function groupCard(group, checks) {
  const { node, body, note } = card(GROUPS[group] ?? group);
  const bad = checks.filter((one) => one.state !== "ok").length;
  note.textContent = bad === 0 ? "all ok" : `${bad} of ${checks.length} not ok`;
  clear(body, el("ul", { class: "checks" }, worstFirst(checks).map((one) => checkItem(one, false))));
  return node;
}

/** @param {any} one @param {boolean} isWrong whether it stands among the wrong ones of all groups */
function checkItem(one, isWrong) {
  const kind = KINDS[one.state] ?? "warn";
  return el(
    "li",
    { "data-state": one.state },
    verdict(kind, one.state),
    el("strong", { class: "name" }, isWrong ? `${GROUPS[one.group] ?? one.group}: ${one.name}` : one.name),
    el("span", { class: "found" }, prose(one.found)),
    isWrong && one.what_to_do ? el("span", { class: "todo" }, el("span", { class: "do" }, "What to do: "), prose(one.what_to_do)) : null,
  );
}

/** @param {any[]} checks @returns {Record<string, any[]>} groups, in the order in which they were checked */
function byGroup(checks) {
  /** @type {Record<string, any[]>} */
  const groups = {};
  for (const one of checks) (groups[one.group] ??= []).push(one);
  return groups;
}

/** @param {any[]} checks */
function worstFirst(checks) {
  return [...checks].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
}

/**
 * Return the result as text, to be pasted into a ticket.
 * @param {any} answer
 */
export function asText(answer) {
  const lines = worstFirst(answer.checks).map((one) => {
    const first = `${one.state.toUpperCase().padEnd(8)} ${one.group}: ${one.name}: ${one.found}`;
    return one.what_to_do && one.state !== "ok" ? `${first}\n         ${one.what_to_do}` : first;
  });
  return [`vectail doctor, ${new Date(answer.asked_ms).toISOString()}: ${summaryOf(answer.checks)}`, ...lines, ""].join("\n");
}

/** Show the text to be copied by hand: without HTTPS a browser gives no clipboard. @param {string} text */
function showText(text) {
  const area = el("textarea", { readonly: true, rows: 16, "aria-label": "The result as text", value: text });
  const dialog = el(
    "dialog",
    { "aria-labelledby": "copy-title", onclose: () => dialog.remove() },
    el("h2", { id: "copy-title" }, "Copy this text"),
    area,
    el("form", { method: "dialog" }, el("button", {}, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
  area.select();
}
