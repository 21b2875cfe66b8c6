// The Templates tab: the families that are new, rise, fall or are gone against an earlier time, the most severe first; and the most frequent.
//
// One question lists them, bounded by `k`; what is nice to have (small charts, shares, when they were first seen) is asked for after it,
// and for the shown ones only, so that 100,000 families cost no more than 50.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";
import { number, plural, time, wordsOf } from "./format.js";
import { bindKeys } from "./keys.js";
import { allTime, rangeOf } from "./range.js";
import { whyIncomplete } from "./reach.js";
import { moveOver } from "./rove.js";
import { filtersOf } from "./search_request.js";
import { go, NO_FILTERS } from "./state.js";
import { statusLine } from "./status.js";
import { showSuggestions } from "./suggestions.js";
import { templateControls } from "./template_controls.js";
import { showBefore, showCharts, showShares } from "./template_extras.js";
import { templateRow } from "./template_rows.js";
import { changesOf, namedBefore, shownList, windowsOf } from "./template_windows.js";
import { showWorseServices } from "./worse_services.js";

/** @typedef {import("./state.js").State} State */

const PAGE = 50;
const MOST = 1_000;
/** With fewer than these, all time is offered. */
const FEW = 5;
const DAY_MS = 86_400_000;
/** What happened to the families of a change: to one, to several. */
const CAME = {
  changed: ["has changed", "have changed"],
  new: ["is new", "are new"],
  up: ["comes clearly more often", "come clearly more often"],
  down: ["comes clearly less often", "come clearly less often"],
  gone: ["stopped coming", "stopped coming"],
};
const DETERMINES = ["show", "q", "mode", "since", "until", "against", "before", "before_until", "k", ...Object.keys(NO_FILTERS)];

/** @param {HTMLElement} view @param {State} state */
export function open(view, state) {
  const status = statusLine();
  const controls = templateControls(() => load(state, true));
  const list = el("ol", { class: "template-list", "aria-label": "Templates" });
  const more = el("button", { type: "button", hidden: true, onclick: () => go({ k: Math.min(wanted(state) * 2, MOST) }, { replace: true }) }, "Show more");
  const help = el("div", { class: "row offers" });
  const worse = el("div", { class: "row worse-services", role: "group", "aria-label": "Services with more errors" });
  const masks = el("div", { class: "suggestions" });
  let asking = new AbortController();
  let asked = "";
  clear(
    view,
    el("h1", { class: "visually-hidden" }, "Templates"),
    el("div", { class: "templates-tab" }, controls.node, status.node, help, worse, masks, list, el("div", { class: "row more-row" }, more)),
  );

  /** @param {State} changed @param {boolean} [again] */
  async function load(changed, again = false) {
    state = changed;
    controls.update(state);
    const key = JSON.stringify(DETERMINES.map((name) => state[name] ?? ""));
    if (key === asked && !again) return;
    asked = key;
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    list.classList.add("old");
    for (const one of [help, worse, masks]) clear(one);
    worse.hidden = shownList(state) !== "changed";
    try {
      await (shownList(state) === "frequent" ? frequent(signal) : compare(signal));
    } catch (error) {
      if (signal.aborted) return;
      clear(list);
      more.hidden = true;
      status.problem(error, () => load(state, true));
    }
  }

  /** @param {AbortSignal} signal @param {any[]} [why] what to say before: why these are shown and not what changed */
  async function frequent(signal, why = []) {
    const now = Date.now();
    let range = rangeOf(state, now);
    status.busy("Counting lines by template …");
    let answer = await ask("/api/templates", listBody(state, range), { signal });
    if (answer.templates.length === 0 && range.automatic) {
      range = allTime();
      controls.showRange(range);
      answer = await ask("/api/templates", listBody(state, range), { signal });
    }
    const filters = filtersOf(state, range);
    const found = answer.templates;
    worse.hidden = true;
    const rows = draw(found, () => filters, signal);
    more.hidden = found.length < wanted(state) || found.length >= MOST;
    status.say(...why, ...foundSentence(found, range, answer, state));
    if (found.length < FEW && range.since_ms !== null) clear(help, offer("Look in all time", { since: "all", until: "" }));
    if (found.length === 0) return;
    void showSuggestions(masks, filters.topic ?? [], signal);
    await showCharts(rows, { filters, q: state.q, now, signal });
    await showShares(rows, { filters, q: state.q, now, signal });
    await showBefore(rows, found, { filters, q: state.q, now, signal });
  }

  /** @param {AbortSignal} signal */
  async function compare(signal) {
    const now = Date.now();
    const range = rangeOf(state, now);
    const windows = windowsOf(state, range, now);
    if (typeof windows === "string") {
      clear(list);
      more.hidden = true;
      status.say(windows);
      return;
    }
    status.busy(`Comparing with ${namedBefore(state.against ?? "", windows.before)} …`);
    const filters = filtersOf(state, { ...windows.now, label: "", automatic: false });
    const body = { ...wordsBody(state), filters, compare: windows.before };
    const answer = await ask("/api/compare", { ...body, k: wanted(state) }, { signal });
    const show = shownList(state);
    const found = changesOf(answer.compare, show);
    const isEmpty = answer.totals.lines === 0 && answer.totals.before === 0;
    if (show === "changed" && (answer.begins_ms !== undefined || found.length === 0) && (range.automatic || !isEmpty)) {
      await frequent(signal, isEmpty ? [] : [...changedSentence(found, answer, windows, state), " "]);
      return;
    }
    const rows = draw(found, (family) => (family.change === "gone" ? { ...filters, ...windows.before } : filters), signal);
    controls.showNumbers(answer.compare, wanted(state));
    more.hidden = found.length < wanted(state) || found.length >= MOST;
    status.say(...changedSentence(found, answer, windows, state));
    if (answer.totals.lines === 0) await offerNewest(signal);
    if (show === "changed") await showWorseServices(worse, body, signal);
    if (found.length > 0) await showCharts(rows, { filters: { ...filters, since_ms: chartFrom(windows, found) }, q: state.q, now, signal });
  }

  /** Offer the last hour and day that have lines: the index may hold old ones. @param {AbortSignal} signal */
  async function offerNewest(signal) {
    const filters = filtersOf(state, allTime());
    const { counts } = await ask("/api/counts", { by: ["time"], buckets: 2, filters }, { signal });
    const newest = Math.max(...counts.map((/** @type {any} */ one) => one.last));
    if (!Number.isFinite(newest)) return;
    const until = String(newest + 1);
    clear(
      help,
      el("span", {}, `The newest line is of ${time(newest)}:`),
      offer("Compare its last hour", { since: String(newest + 1 - DAY_MS / 24), until }),
      offer("Compare its last day", { since: String(newest + 1 - DAY_MS), until }),
    );
  }

  /** @param {any[]} found @param {(family: any) => Record<string, any>} filtersFor under which a family's lines are counted @param {AbortSignal} signal */
  function draw(found, filtersFor, signal) {
    const words = wordsOf(state.q);
    const rows = found.map((family) => templateRow(family, { words, filters: filtersFor(family), signal }));
    list.classList.remove("old");
    clear(list, rows.map((row) => row.node));
    return rows;
  }

  const unbind = [moveOver(view, "button.opens", "template"), bindKeys([{ keys: ["/"], what: "Filter by words", run: () => controls.focus() }])];
  load(state);
  return {
    update: (/** @type {State} */ changed) => void load(changed),
    close() {
      asking.abort();
      status.close();
      for (const end of unbind) end();
    },
  };
}

/** @param {State} state */
function wanted(state) {
  const count = Number.parseInt(state.k ?? "", 10);
  return Number.isFinite(count) ? Math.min(Math.max(count, 1), MOST) : PAGE;
}

/** The words that are typed; here a filter, unless the meaning is asked for. @param {State} state */
function wordsBody(state) {
  const text = state.q.trim();
  return text === "" ? {} : { text, mode: state.mode === "dense" ? "dense" : "words" };
}

/** @param {State} state @param {import("./range.js").Range} range */
function listBody(state, range) {
  return { ...wordsBody(state), k: wanted(state), filters: filtersOf(state, range) };
}

/** @param {string} text @param {Record<string, string>} changes */
function offer(text, changes) {
  return el("button", { type: "button", class: "small", onclick: () => go(changes) }, text);
}

/** @param {any[]} found @param {import("./range.js").Range} range @param {any} answer @param {State} state */
function foundSentence(found, range, answer, state) {
  const cut = cutOf(answer);
  if (found.length === 0) {
    const why = state.q.trim() ? " has these words. Try other words, or look by meaning." : range.since_ms === null ? "; nothing is indexed that passes the filters." : ".";
    return [el("strong", {}, `No template ${range.label}`), `${why}${cut}`];
  }
  const all = found.length < wanted(state) ? "" : state.q.trim() ? "The best " : "The most frequent ";
  return [`${all}${all ? number(found.length) : plural(found.length, "family", "families")}${all ? " families" : ""} ${range.label}.${cut}`];
}

/** @param {any[]} found @param {any} answer @param {any} windows @param {State} state */
function changedSentence(found, answer, windows, state) {
  const against = namedBefore(state.against ?? "", windows.before);
  const { lines, before } = answer.totals;
  const totals = `${plural(lines, "line")} against ${number(before)} in ${against}.`;
  const cut = cutOf(answer);
  if (lines === 0 && before === 0) return [el("strong", {}, "Neither time has lines.")];
  const show = shownList(state);
  if (answer.begins_ms !== undefined && ["changed", "new", "up"].includes(show))
    return [el("strong", {}, `The index begins at ${time(answer.begins_ms)}`), `: too late to call anything new or rising. ${totals}${cut}`];
  const [one, many] = CAME[/** @type {keyof typeof CAME} */ (show)];
  const result = found.length === 0 ? `No family ${one}.` : `${plural(found.length, "family", "families")} ${found.length === 1 ? one : many}.`;
  return [el("strong", {}, result), ` ${totals}${cut}`];
}

/** Why an answer is not complete, behind a blank; "" if it is. @param {any} answer */
function cutOf(answer) {
  const why = whyIncomplete(answer, "Not everything was read: a shorter time gives all.");
  return why && ` ${why}`;
}

/** From when on the charts of changed families are drawn: both times if they are neighbours. @param {any} windows @param {any[]} found */
function chartFrom({ now, before }, found) {
  const long = now.since_ms - 4 * (now.until_ms - now.since_ms);
  const last = Math.min(...found.map((one) => one.last));
  return Math.max(before.since_ms, Math.min(long, last));
}
