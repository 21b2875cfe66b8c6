// The search tab: a question, a time and filters become hits, a histogram and facets.
//
// The worker answers one query at a time, and those for few hits first. So the hits are asked for first and alone; after them the histogram
// with all facets, and the small charts: three requests; where nothing is asked, three more put errors first. A newer question ends all that
// an older one still waits for.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";
import { copy, shareLink } from "./commands.js";
import { countsOfLines, isExact } from "./exact.js";
import { time } from "./format.js";
import { exportMenu } from "./export_menu.js";
import { facets as facetPanel } from "./facets.js";
import { filterChips } from "./chips.js";
import { filterButton } from "./filter_button.js";
import { errorsFirst } from "./first_screen.js";
import { results } from "./results.js";
import { savedSearches } from "./saved_searches.js";
import { histogram, seriesOf } from "./histogram.js";
import { bindKeys } from "./keys.js";
import { showLine } from "./line_view.js";
import { lookedUp } from "./looked_up.js";
import { allTime, rangeOf, rangePicker } from "./range.js";
import { searchBar } from "./search_bar.js";
import { found, nothingFound, offerLastHour } from "./search_words.js";
import { countsBody, familiesBody, fieldNamesBody, hitsBody, isListing, MOST_HITS, wanted } from "./search_request.js";
import { go, read } from "./state.js";
import { statusLine } from "./status.js";
import { wrapButton } from "./wrap.js";

/**
 * @param {HTMLElement} view
 * @param {any} first
 */
export function open(view, first) {
  let force = false;
  const bar = searchBar((changes) => ((force = true), go({ ...changes, line: "", k: "" })), () => list.move(1));
  const picker = rangePicker((changes) => ((force = true), go({ ...changes, k: "" })));
  const exports = exportMenu();
  const saved = savedSearches();
  const chips = filterChips();
  const status = statusLine();
  const chart = histogram((since, until) => go({ since: String(since), until: String(until), k: "" }));
  const list = results();
  const facets = facetPanel(offerNames);
  const more = el("button", { type: "button", class: "more", hidden: true, onclick: () => go({ k: String(nextCount(read())) }, { replace: true }) }, "Show more");
  const narrowing = filterButton(view, () => facets.node.querySelector("details")?.setAttribute("open", ""));
  const share = el("button", { type: "button", onclick: copyLink }, "Copy link");
  const line = el("div", { hidden: true });
  const looked = lookedUp();
  const body = el("div", {}, looked.node, chart.node, el("div", { class: "columns" }, facets.node, el("section", { class: "found", "aria-label": "Results" }, el("h2", { class: "visually-hidden" }, "Results"), list.node, more)));
  const tools = el("div", { class: "row search-tools narrowing" }, picker.node, el("span", { class: "grow" }), saved.node, wrapButton(), exports.node, share);
  view.append(el("h1", { class: "visually-hidden" }, "Search"), el("div", { class: "search-head" }, bar.node, tools, chips.node), status.node, line, body);

  bar.node.append(narrowing.node);
  for (const one of [chips.node, facets.node]) one.classList.add("narrowing");
  let asked = new AbortController();
  let range = rangeOf(first);
  /** What is on the screen: the question without and with the number of hits. */
  let shown = { question: "", count: 0, columns: "" };
  /** The last answer that came: to which question, and when. */
  let answered = { question: "", atMs: 0 };
  let summary = [""];
  /** What histogram and facets count: for a question, which fits everything a little, the families that `counts` counts. */
  let counted = first;
  /** Those families, of what is on the screen. @type {string[]} */
  let meant = [];
  /** The button that leads to where lines are, if the last hour has none. @type {HTMLElement | null} */
  let elsewhere = null;
  /** @type {{close: () => void, more: () => void} | null} */
  let lineView = null;
  /** The question whose field names were asked for. @type {AbortSignal | null} */
  let named = null;

  /** @param {any} state */
  function update(state) {
    bar.update(state);
    chips.update(state);
    narrowing.update(state);
    lineView?.close();
    lineView = null;
    line.hidden = state.line === "";
    body.hidden = tools.hidden = state.line !== "";
    if (state.line !== "") {
      status.say("");
      document.title = `${state.line} · vectail`;
      lineView = showLine(line, state.line, { state, range, words: [], body: null, say: status.say });
      return;
    }
    const question = JSON.stringify({ ...state, k: "", facet: [], column: [], tab: "" });
    const isSame = question === shown.question && !force;
    force = false;
    if (isSame && wanted(state) === shown.count) {
      draw();
      counted = { ...counted, facet: state.facet, column: state.column };
      if (String(state.column) === shown.columns) facets.load(counted, range, asked.signal);
      else takeColumns(state);
    } else run(state, question, isSame);
  }

  /** Show other fields with the hits. @param {any} state */
  function takeColumns(state) {
    shown = { ...shown, columns: String(state.column) };
    facets.wanted(counted);
    if (isListing(state)) later(state, asked.signal, true);
  }

  /** @param {any} state @param {string} question @param {boolean} isMore */
  async function run(state, question, isMore) {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    range = rangeOf(state);
    picker.update(state, range);
    exports.update(state, range);
    status.busy(state.q ? "Searching …" : "Looking for errors and what is new …");
    list.wait(question !== shown.question);
    if (!isMore) chart.wait();
    const started = performance.now();
    try {
      let answer = await ask("/api/search", { ...hitsBody(state, range), ...(range.automatic ? { widen: true } : {}) }, { signal });
      const isWidened = answer.widened === true && !isExact(state, answer);
      if (answer.widened) {
        range = allTime();
        picker.update(state, range);
        exports.update(state, range);
      }
      if (isListing(state)) answer = await errorsFirst(answer, state, range, signal);
      shown = { question, count: wanted(state), columns: String(state.column) };
      answered = { question, atMs: Date.now() };
      body.classList.remove("stale");
      saved.update(state);
      list.show(answer, { state, range, body: hitsBody(state, range), say: status.say }, isMore);
      elsewhere = null;
      summary = found(state, answer, range, isWidened, performance.now() - started);
      draw();
      more.hidden = (answer.hits ?? answer.templates).length < wanted(state) || wanted(state) >= MOST_HITS;
      const isEmpty = (answer.hits ?? answer.templates).length === 0;
      facets.node.hidden = (isEmpty && chips.node.hidden) || isExact(state, answer);
      meant = answer.counted ?? list.families();
      looked.update(state, signal);
      if (answer.nothing_close) {
        counted = state;
        facets.node.hidden = true;
        return chart.fail("Nothing is close to the question, so no lines are counted.");
      }
      if (isEmpty) {
        counted = state;
        chart.fail("");
        nothingFound(state, range, status, signal);
        if (!facets.node.hidden) await facets.load(state, range, signal);
        return;
      }
      if (isExact(state, answer)) chart.draw(seriesOf(countsOfLines(answer.hits), allTime()));
      await later(state, signal, isExact(state, answer) || (isMore && state.q.trim() === ""));
    } catch (error) {
      if (signal.aborted) return;
      shown = { question: "", count: 0, columns: "" };
      more.hidden = true;
      const isKept = !list.isEmpty() && (isAway(error) || question === answered.question);
      body.classList.toggle("stale", isKept);
      if (isKept) list.settle();
      else {
        list.clear();
        chart.fail("");
      }
      status.problem(error, () => ((force = true), update(read())), isKept ? asItWas(question) : "");
    }
  }

  /** @param {string} question the one that was not answered */
  function asItWas(question) {
    return `What is below is as it was at ${time(answered.atMs).slice(11)}${question === answered.question ? "" : ", for the question before this one"}.`;
  }

  /**
   * What may come after the hits.
   * @param {any} state @param {AbortSignal} signal @param {boolean} isCounted histogram and facets are on the screen, or not to be asked for
   */
  async function later(state, signal, isCounted) {
    const families = list.families();
    const isQuestion = state.q.trim() !== "" && meant.length > 0;
    counted = isQuestion ? { ...state, isRanked: false, family: meant.slice(0, 100) } : state;
    if (named !== signal) facets.offer(list.fieldNames().map((name) => ({ name })));
    const ignore = () => {}; // the small charts are no loss
    await Promise.all([
      isCounted ? null : count(signal),
      families.length > 0 ? ask("/api/counts", familiesBody(state, range, families), { signal }).then(({ groups }) => (list.setCounts(groups, range), list.setColumns(read().column)), ignore) : null,
    ]);
  }

  /** Count for histogram and facets. @param {AbortSignal} signal */
  async function count(signal) {
    const names = facets.wanted(counted);
    facets.wait(counted, range, signal);
    try {
      const { groups } = await ask("/api/counts", countsBody(counted, range, names, facets.top(), true), { signal });
      drawChart(groups.shift());
      facets.show(groups);
    } catch (error) {
      if (signal.aborted) return;
      chart.fail(`The histogram could not be counted: ${error.reason ?? error.message}`);
      facets.fail(error);
    }
  }

  /** @param {any} answer counts by time and level */
  function drawChart(answer) {
    chart.draw(seriesOf(answer, range), counted.family.length > 0 ? "of what fits" : "");
    if (range.automatic && range.since_ms === null && answer.counts.length > 0) {
      elsewhere = offerLastHour(Math.max(...answer.counts.map((/** @type {any} */ one) => one.last)));
      draw();
    }
  }

  function draw() {
    list.redraw();
    list.setColumns(read().column);
    if (summary[0] !== "") status.say(summary.join(" "), elsewhere && " ", elsewhere);
  }

  /** Names of hits are there at once; those of all lines take some seconds, so they are asked for when somebody wants them. */
  async function offerNames() {
    const { signal } = asked;
    if (named === signal) return;
    named = signal;
    try {
      const { counts, complete } = await ask("/api/counts", fieldNamesBody(counted, range), { signal });
      facets.offer(counts.map((/** @type {any} */ one) => ({ name: one.field, lines: one.lines })), complete);
    } catch (error) {
      if (named !== signal) return;
      named = null; // the next look asks again
      facets.failNames(error);
    }
  }

  async function copyLink() {
    status.say((await copy(shareLink({}, range))) ? "Copied: a link to what is shown, with these very times." : "The browser does not let this page copy: take the address.");
  }

  function escape() {
    if (read().line !== "") go({ line: "" });
    else if (!list.closeAll()) (/** @type {HTMLElement} */ (document.activeElement))?.blur();
  }

  const unbind = bindKeys([
    { keys: ["/"], what: "Write a question", run: () => (bar.box.focus(), bar.box.select()) },
    { keys: ["j"], what: "Next hit (↓ from the question)", run: () => list.move(1) },
    { keys: ["k"], what: "Previous hit", run: () => list.move(-1) },
    { keys: ["Enter"], what: "Open or close the hit" },
    { keys: ["e"], what: "Open everything of the hit: neighbours, lines, templates; again for more", run: () => (lineView ?? list.current())?.more() },
    { keys: ["r"], what: "Ask again", run: () => ((force = true), update(read())) },
    { keys: ["Escape"], what: "Close what is open, leave the question", run: escape },
  ]);
  update(first);
  return {
    update,
    close() {
      unbind();
      asked.abort();
      lineView?.close();
      list.clear();
      status.close();
      clear(view);
      view.classList.remove("filters-open");
    },
  };
}

/** @param {any} state */
function nextCount(state) {
  return Math.min(wanted(state) * (wanted(state) % 3 === 0 ? 4 : 3), MOST_HITS);
}

/** Whether the worker does not answer now, so that what it said before is the best that there is. @param {any} error */
function isAway(error) {
  return error.status === 0 || error.status === 429 || error.status >= 500;
}
