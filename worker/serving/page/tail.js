// The Live tab: lines as they are indexed, by any worker, in the order of their time. The newest 500 are on the page; what was left out is
// counted, by level.
//
// While it is paused, or somebody has scrolled up to read, lines wait beside the list, which then does not move.

import { clear, el } from "./dom.js";
import { compact, number, plural, wordsOf } from "./format.js";
import { bindKeys } from "./keys.js";
import { allTime } from "./range.js";
import { filtersOf } from "./search_request.js";
import { NO_FILTERS } from "./state.js";
import { statusLine } from "./status.js";
import { tailControls } from "./tail_controls.js";
import { tailRow } from "./tail_rows.js";
import { tailSample } from "./tail_sample.js";
import { follow } from "./tail_stream.js";

const MOST_ROWS = 500;
const NEAR_END_PX = 40;
const SUMMARY_MS = 30_000;
const DETERMINES = ["q", "mode", ...Object.keys(NO_FILTERS)];

/** @param {HTMLElement} view @param {import("./state.js").State} state */
export function open(view, state) {
  const status = statusLine();
  const controls = tailControls({ pause: () => setPaused(!isPaused), empty });
  const sample = tailSample();
  const counts = el("span", { class: "quiet tail-counts" });
  const list = el("ol", { class: "tail-lines" });
  const scroller = el("div", { class: "tail card", role: "log", "aria-live": "off", "aria-label": "Live lines", tabindex: 0, onscroll: scrolled }, list);
  const jump = el("button", { type: "button", class: "primary jump", hidden: true, onclick: catchUp });
  /** @type {any[]} lines that are not shown yet, by time */
  let waiting = [];
  /** @type {{stop: () => void} | null} */
  let stream = null;
  let isPaused = false;
  let isAtEnd = true;
  let came = 0;
  let before = 0;
  let dropped = 0;
  let unshown = 0;
  let frame = 0;
  let asked = "";
  clear(
    view,
    el("h1", { class: "visually-hidden" }, "Live"),
    el("div", { class: "tail-tab" }, controls.node, el("div", { class: "bar-of-buttons" }, el("div", { class: "grow" }, status.node), counts), el("div", { class: "tail-frame" }, scroller, jump)),
  );

  /** @param {any} changed */
  function update(changed) {
    state = changed;
    controls.update(state);
    const key = JSON.stringify(DETERMINES.map((name) => state[name] ?? ""));
    if (key === asked) return;
    asked = key;
    connect();
  }

  function connect() {
    stream?.stop();
    empty();
    status.busy("Waiting for lines …");
    stream = follow(queryOf(state), {
      open: () => sayState(),
      lines: took,
      problem: (error) => status.problem(error),
      away: (error, seconds) => {
        if (seconds === 0) status.problem(error, connect);
        else status.say(el("strong", {}, `Not connected: ${error.reason} `), `Trying again in ${seconds} s; lines that come meanwhile follow.`);
      },
    });
  }

  /** @param {{lines: any[], dropped: number, dropped_by_level?: Record<string, number>}} answer */
  function took(answer) {
    const { lines, dropped: left = 0 } = answer;
    sample.take(answer, Date.now());
    if (status.node.dataset.kind === "problem") sayState();
    if (came === 0 && lines.length > 0) sayState(lines.length);
    came += lines.length;
    dropped += left;
    waiting = [...waiting, ...lines].sort((one, other) => one.time - other.time);
    if (waiting.length > MOST_ROWS) {
      unshown += waiting.length - MOST_ROWS;
      waiting = waiting.slice(-MOST_ROWS);
    }
    frame ||= requestAnimationFrame(draw);
  }

  function draw() {
    frame = 0;
    if (!isPaused && isAtEnd && waiting.length > 0) {
      const words = wordsOf(state.q);
      for (const line of waiting) list.insertBefore(tailRow(line, words), firstAfter(list, line.time));
      waiting = [];
      while (list.childElementCount > MOST_ROWS) {
        list.firstElementChild?.remove();
        unshown += 1;
      }
      scroller.scrollTop = scroller.scrollHeight;
    }
    showCounts();
  }

  function showCounts() {
    const parts = [came > 0 ? plural(came, "line") : ""];
    if (unshown > 0) parts.push(`the newest ${number(MOST_ROWS)} are kept here`);
    if (dropped > 0) parts.push(`${compact(dropped)} more came too fast`);
    const rate = sample.text(Date.now());
    if (rate) parts.push(`in the last minute shown: ${rate}`);
    counts.textContent = parts.filter(Boolean).join("; ");
    jump.hidden = waiting.length === 0;
    jump.textContent = `${waiting.length >= MOST_ROWS ? `${number(MOST_ROWS)} and more` : number(waiting.length)} new ${waiting.length === 1 ? "line" : "lines"}: show ${waiting.length === 1 ? "it" : "them"}`;
  }

  function sayState(now = came) {
    if (isPaused) status.say(el("strong", {}, "Paused. "), "Lines that come meanwhile are counted and wait.");
    else if (now === 0) status.say(waitingText(state));
    else status.say("Live: new lines appear at the end.");
  }

  /** @param {boolean} paused */
  function setPaused(paused) {
    isPaused = paused;
    controls.showPaused(paused);
    sayState();
    if (!paused) isAtEnd = true;
    draw();
  }

  function catchUp() {
    isAtEnd = true;
    if (isPaused) setPaused(false);
    else draw();
    scroller.focus();
  }

  function empty() {
    clear(list);
    sample.empty();
    waiting = [];
    came = dropped = unshown = before = 0;
    isAtEnd = true;
    showCounts();
  }

  function scrolled() {
    isAtEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_END_PX;
    if (isAtEnd && waiting.length > 0 && !isPaused) frame ||= requestAnimationFrame(draw);
  }

  const summary = setInterval(() => {
    if (!isPaused && came > before && status.node.dataset.kind === "said") status.say(`Live: ${plural(came - before, "line")} in the last ${SUMMARY_MS / 1000} seconds.`);
    before = came;
  }, SUMMARY_MS);
  const unbind = bindKeys([
    { keys: ["/"], what: "Filter", run: () => controls.focus() },
    { keys: ["p"], what: "Pause, or go on", run: () => setPaused(!isPaused) },
    { keys: ["G"], what: "To the newest line", run: catchUp },
  ]);
  update(state);
  return {
    update,
    close() {
      stream?.stop();
      status.close();
      clearInterval(summary);
      cancelAnimationFrame(frame);
      unbind();
    },
  };
}

/** Return the first row of a line that is later; null if there is none. @param {HTMLElement} list @param {number} time */
function firstAfter(list, time) {
  let after = null;
  for (let row = /** @type {HTMLElement | null} */ (list.lastElementChild); row && Number(row.dataset.time) > time; row = /** @type {HTMLElement | null} */ (row.previousElementSibling)) after = row;
  return after;
}

/** @param {import("./state.js").State} state */
function queryOf(state) {
  const filters = filtersOf(state, allTime());
  const text = state.q.trim();
  const question = text === "" ? {} : { text, mode: state.mode === "dense" ? "dense" : "words" };
  return { as: "tail", ...question, ...(Object.keys(filters).length > 0 ? { filters } : {}) };
}

/** @param {import("./state.js").State} state */
function waitingText(state) {
  const isNarrow = state.q.trim() !== "" || DETERMINES.slice(2).some((name) => Object.keys(state[name] ?? {}).length > 0);
  if (isNarrow) return "Connected. No line has passed these filters yet; take one away to see more.";
  return "Connected. No line has been indexed since. If lines should come, the Lag tab says whether they wait.";
}
