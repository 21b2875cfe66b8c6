// The Dead letters tab: records that could not be indexed, by reason, and their replay: the one thing on this page that changes something.

import { get, post } from "./api.js";
import { clear, el } from "./dom.js";
import { number, plural } from "./format.js";
import { confirmReplay, resultOf } from "./letter_replay.js";
import { letterRow } from "./letter_rows.js";
import { visible } from "./log_text.js";
import { moveOver } from "./rove.js";
import { go } from "./state.js";
import { statusLine } from "./status.js";

const PAGE = 100;
const MOST = 1_000;
/** The worker takes this many letters in one replay. */
const MOST_AT_ONCE = 100;

/** What the worker's reasons mean, by their heading: what stands before the first ": ". */
const MEANING = /** @type {Record<string, string>} */ ({
  undecodable: "The bytes are not what the topic's format says. Correct the producer or the topic's settings (topic.format).",
  unknown_schema: "The schema registry does not have its schema. Register it, then replay.",
  too_large: "The record is larger than the worker takes: decode.max_record_bytes allows it.",
  too_many_entries: "The record holds more entries than the worker takes.",
  too_many_chunks: "The line is longer than the worker cuts into pieces. Allow more pieces (decode.max_chunks), then replay.",
  "refused by the sink": "The index refuses the row.",
});

/** @param {HTMLElement} view @param {import("./state.js").State} state */
export function open(view, state) {
  const status = statusLine();
  const outcome = el("div", { class: "outcome", role: "status" });
  const reasons = el("div", { class: "reasons", role: "group", "aria-label": "Reasons" });
  const list = el("ol", { class: "letters", "aria-label": "Dead letters" });
  const selectAll = el("input", { type: "checkbox", id: "letters-all", onchange: () => selectShown(selectAll.checked) });
  const selectLabel = el("label", { for: "letters-all" });
  const replay = el("button", { type: "button", class: "primary", disabled: true, onclick: startReplay }, "Replay");
  const bar = el("div", { class: "row letters-bar", hidden: true }, el("span", { class: "row" }, selectAll, selectLabel), replay);
  const more = el("button", { type: "button", hidden: true, onclick: () => go({ k: Math.min(wanted(state) + PAGE, MOST) }, { replace: true }) }, "Show more");
  const refreshing = el("button", { type: "button", class: "small", onclick: () => load() }, "Refresh");
  /** @type {Set<string>} */
  const selected = new Set();
  /** @type {Map<string, {checkbox: HTMLInputElement}>} */
  let rows = new Map();
  /** @type {any} */
  let answer = null;
  let asking = new AbortController();
  clear(
    view,
    el("h1", { class: "visually-hidden" }, "Dead letters"),
    el("div", { class: "letters-tab" }, el("div", { class: "bar-of-buttons" }, el("div", { class: "grow" }, status.node), refreshing), outcome, reasons, bar, list, el("div", { class: "row more-row" }, more)),
  );

  async function load() {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    status.busy("Reading the topic of dead letters …");
    list.classList.add("old");
    try {
      answer = await get("/api/dead-letters", { limit: wanted(state) }, { signal });
      draw();
    } catch (error) {
      if (!signal.aborted) status.problem(error, load);
    }
  }

  function draw() {
    list.classList.remove("old");
    const shown = shownLetters();
    const known = new Set(shown.map((/** @type {any} */ one) => one.id));
    for (const id of selected) if (!known.has(id)) selected.delete(id);
    rows = new Map();
    clear(
      list,
      shown.map((/** @type {any} */ letter) => {
        const row = letterRow(letter, selected.has(letter.id), (isOn) => choose(letter.id, isOn));
        if (row.checkbox) rows.set(letter.id, { checkbox: row.checkbox });
        return row.node;
      }),
    );
    clear(reasons, answer.by_reason.map(reasonButton));
    reasons.hidden = answer.by_reason.length === 0;
    more.hidden = answer.letters.length < wanted(state) || answer.letters.length >= MOST;
    status.say(...summaryOf(answer, shown.length, state.reason ?? ""));
    showSelection();
  }

  /** @param {any} one */
  function reasonButton(one) {
    const isOn = state.reason === one.reason && state.of === one.topic;
    const meaning = Object.hasOwn(MEANING, one.reason) ? MEANING[one.reason] : "";
    return el(
      "button",
      { type: "button", class: "reason", "aria-pressed": String(isOn), onclick: () => go(isOn ? { reason: "", of: "" } : { reason: one.reason, of: one.topic }) },
      el("span", { class: "value" }, number(one.letters)),
      el("span", {}, el("bdi", {}, visible(one.reason)), el("span", { class: "quiet" }, " in ", visible(one.topic)), meaning ? el("span", { class: "quiet meaning" }, meaning) : null),
    );
  }

  /** @param {string} id @param {boolean} isOn */
  function choose(id, isOn) {
    if (isOn) selected.add(id);
    else selected.delete(id);
    showSelection();
  }

  /** @param {boolean} isOn */
  function selectShown(isOn) {
    for (const [id, { checkbox }] of rows) {
      checkbox.checked = isOn;
      if (isOn) selected.add(id);
      else selected.delete(id);
    }
    showSelection();
  }

  function showSelection() {
    bar.hidden = answer === null || answer.letters.length === 0;
    selectAll.disabled = rows.size === 0;
    selectAll.checked = rows.size > 0 && selected.size === rows.size;
    selectAll.indeterminate = selected.size > 0 && selected.size < rows.size;
    selectLabel.textContent = answer === null ? "" : rows.size === 0 ? noneText() : `All ${number(rows.size)} shown that can be replayed`;
    replay.disabled = selected.size === 0;
    replay.textContent = selected.size === 0 ? "Replay" : `Replay ${plural(selected.size, "letter")}`;
  }

  /** @returns {any[]} those of the chosen reason */
  function shownLetters() {
    return answer.letters.filter((/** @type {any} */ one) => !state.reason || (hasReason(one, state.reason) && one.topic === state.of));
  }

  function noneText() {
    const shown = shownLetters();
    if (shown.length > 0 && shown.every((/** @type {any} */ one) => one.replayed)) return "All of these were replayed";
    return "None of these can be replayed: each letter says why";
  }

  async function startReplay() {
    const ids = [...selected];
    if (!(await confirmReplay(ids.length))) return;
    replay.disabled = true;
    const sum = { replayed: 0, partly: 0, already: 0, left: 0, lines: 0, unresolved: /** @type {any[]} */ ([]) };
    try {
      for (let place = 0; place < ids.length; place += MOST_AT_ONCE) {
        status.busy(`Replaying ${plural(ids.length, "letter")}${place > 0 ? `, ${number(place)} done` : ""}. Stay here until it has ended …`);
        add(sum, await post("/api/dead-letters/replay", { ids: ids.slice(place, place + MOST_AT_ONCE) }));
      }
      selected.clear();
      clear(outcome, resultOf(sum, () => clear(outcome)));
      await load();
    } catch (error) {
      clear(outcome, sum.replayed + sum.left > 0 ? resultOf(sum, () => clear(outcome)) : null);
      status.problem(error);
      replay.disabled = false;
    }
  }

  const unbind = moveOver(view, ".letters input[type=checkbox]", "dead letter");
  load();
  return {
    update(/** @type {any} */ changed) {
      const isMore = wanted(changed) !== wanted(state);
      state = changed;
      if (isMore || answer === null) load();
      else draw();
    },
    close() {
      asking.abort();
      status.close();
      unbind();
    },
  };
}

/** @param {any} state */
function wanted(state) {
  const count = Number.parseInt(state.k ?? "", 10);
  return Number.isFinite(count) ? Math.min(Math.max(count, 1), MOST) : PAGE;
}

/** @param {any} sum @param {any} answer */
function add(sum, answer) {
  for (const name of ["replayed", "partly", "already", "left", "lines"]) sum[name] += answer[name] ?? 0;
  sum.unresolved.push(...(answer.unresolved ?? []));
}

/** Reasons are counted by their heading. @param {any} letter @param {string} heading */
function hasReason(letter, heading) {
  return letter.kind === heading || letter.reason === heading || letter.reason.startsWith(`${heading}: `);
}

/** @param {any} answer @param {number} shown @param {string} reason */
function summaryOf({ letters, total, replayed = 0, complete, dead_letter_topic: topic }, shown, reason) {
  const cut = complete ? "" : " Not all of the topic was read in time: there may be older ones.";
  if (letters.length === 0) {
    const none = complete ? `No dead letters in ${topic}: every record could be indexed.` : `No dead letter was found in ${topic} so far.`;
    return [el("strong", {}, none), cut];
  }
  const which = reason ? `; ${number(shown)} of the newest ${number(letters.length)} have the chosen reason` : letters.length < total + replayed ? `; the newest ${number(letters.length)} are shown` : "";
  const todo = total > 0 ? " Remove the cause first, then replay." : "";
  const done = replayed > 0 ? `${plural(total, "dead letter")} in ${topic}, and ${number(replayed)} that were replayed` : `${plural(total, "dead letter")} in ${topic}`;
  return [el("strong", {}, done), `${which}.${cut}${todo}`];
}
