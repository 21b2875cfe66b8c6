// The lines around a line in its partition.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";
import { day, plural, time } from "./format.js";
import { levelMark, logText, visible } from "./log_text.js";
import { aroundBody, placeOf } from "./search_request.js";
import { statusLine } from "./status.js";
import { href } from "./state.js";

const FIRST = 5;
const MOST = 500;
const CLAMPED = 400;

/**
 * Make the section; the neighbours are asked for at once.
 * @param {{topic: string, partition: number, offset: number, sub?: number, chunk?: number}} line
 * @param {{words: string[]}} context
 * @param {AbortSignal} signal
 * @param {(lines: any[]) => void} [found] called with each answer
 * @returns {{node: HTMLElement, more: () => void}}
 */
export function neighbours(line, { words }, signal, found = () => {}) {
  let context = FIRST;
  const status = statusLine();
  const list = el("ol", { class: "lines" });
  const wider = el("button", { type: "button", class: "small", hidden: true, onclick: more }, "More neighbours");
  const title = el("h3", {}, "Neighbours");
  const node = el("section", { class: "part around", "aria-label": "Neighbours" }, title, status.node, list, wider);
  signal.addEventListener("abort", status.close);

  async function load() {
    status.busy("Reading the neighbours …");
    wider.disabled = true;
    try {
      const { hits, complete } = await ask("/api/around", aroundBody(line, context), { signal });
      const ofOneDay = new Set(hits.map((/** @type {any} */ one) => day(one.time))).size <= 1;
      clear(list, hits.map((/** @type {any} */ one) => lineRow(one, words, { isMarked: isSame(one, line), ofOneDay })));
      const before = new Set(hits.filter((/** @type {any} */ one) => one.offset < line.offset).map((/** @type {any} */ one) => one.offset)).size;
      const after = new Set(hits.filter((/** @type {any} */ one) => one.offset > line.offset).map((/** @type {any} */ one) => one.offset)).size;
      const cut = complete ? "" : " Some could not be read in time.";
      status.say(`${plural(before, "record")} before and ${after} after, in partition ${line.partition} of `, el("bdi", {}, visible(line.topic)), `.${cut}`);
      wider.hidden = context >= MOST;
      found(hits);
    } catch (error) {
      if (!signal.aborted) status.problem(error, load);
    }
    wider.disabled = false;
  }

  function more() {
    context = Math.min(context * 4, MOST);
    load();
  }

  load();
  return { node, more };
}

/** @param {any} one @param {any} line */
function isSame(one, line) {
  return one.offset === line.offset && (line.sub === undefined || (one.sub === line.sub && one.chunk === line.chunk));
}

/**
 * A line in a list of lines: when, level, text; its time is the link to the very line.
 * @param {any} line @param {string[]} words
 * @param {{isMarked?: boolean, ofOneDay?: boolean}} [how] `ofOneDay`: the clock is enough
 */
export function lineRow(line, words, { isMarked = false, ofOneDay = false } = {}) {
  const at = time(line.time, { milliseconds: true });
  return el(
    "li",
    { class: isMarked && "marked", "aria-current": isMarked && "true", "data-level": line.level },
    el("a", { class: "when", href: href({ line: placeOf(line) }), title: `${at}: open this line` }, ofOneDay ? at.slice(11) : at),
    levelMark(line.level),
    el("span", { class: "what" }, line.service && [el("bdi", { class: "service quiet" }, visible(line.service)), " "], logText(line.text, { words, most: CLAMPED })),
  );
}
