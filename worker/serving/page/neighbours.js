// The lines around a line: the records of its partition, or what its service, host or trace logged.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";
import { day, plural, time } from "./format.js";
import { withoutHead } from "./line_head.js";
import { kafkaMark, levelMark, logText, visible } from "./log_text.js";
import { aroundBody, placeOf } from "./search_request.js";
import { statusLine } from "./status.js";
import { href } from "./state.js";

const FIRST = 5;
const MOST = 500;
const CLAMPED = 400;
/** What neighbours may have in common, and what a line has of it. @type {[string, string, (line: any) => any][]} */
const SAME = [
  ["service", "service", (line) => line.service],
  ["host", "host", (line) => line.fields?.["host.name"]],
  ["trace", "trace", (line) => line.fields?.trace_id],
];

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
  let by = "";
  /** The line as the index has it: known at once, or from the first answer. @type {any} */
  let own = line.sub === undefined ? null : line;
  const status = statusLine();
  const list = el("ol", { class: "lines" });
  const wider = el("button", { type: "button", class: "small", hidden: true, onclick: more }, "More neighbours");
  const title = el("h3", {}, "Neighbours");
  const ways = el("div", { class: "row", role: "group", "aria-label": "Neighbours by", hidden: true });
  const node = el("section", { class: "part around", "aria-label": "Neighbours" }, title, ways, status.node, list, wider);
  signal.addEventListener("abort", status.close);
  offerWays();

  /** Offer what this line has: without a service, a host and a trace there is nothing to choose. */
  function offerWays() {
    const offered = own === null ? [] : SAME.filter(([, , of]) => of(own));
    ways.hidden = offered.length === 0;
    clear(
      ways,
      [["", "partition"], ...offered].map(([value, name]) =>
        el("button", { type: "button", class: "small", "aria-pressed": String(by === value), onclick: () => ((by = String(value)), (context = FIRST), offerWays(), load()) }, `Same ${name}`),
      ),
    );
  }

  async function load() {
    status.busy("Reading the neighbours …");
    wider.disabled = true;
    try {
      const { hits, complete, same } = await ask("/api/around", aroundBody({ ...line, sub: own?.sub }, context, by), { signal });
      const ofOneDay = new Set(hits.map((/** @type {any} */ one) => day(one.time))).size <= 1;
      clear(list, hits.map((/** @type {any} */ one) => lineRow(one, words, { isMarked: isSame(one, line), ofOneDay })));
      const { before, after } = around(hits, line, Boolean(same));
      const cut = complete ? "" : " Some could not be read in time.";
      if (same) status.say(`${plural(before, "line")} before and ${after} after, of ${by} `, el("bdi", {}, visible(same.value ?? "?")), `, by time, in all partitions.${cut}`);
      else status.say(`${plural(before, "record")} before and ${after} after, in partition ${line.partition} of `, el("bdi", {}, visible(line.topic)), `.${cut}`);
      wider.hidden = context >= MOST;
      if (!same) found(hits);
      if (own === null) {
        own = hits.find((/** @type {any} */ one) => isSame(one, line)) ?? null;
        offerWays();
      }
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

/**
 * How many come before the line, and how many after it: records by their offset, or lines in their order.
 * @param {any[]} hits @param {any} line @param {boolean} areLines
 */
function around(hits, line, areLines) {
  const places = [...new Set(hits.map((one) => (areLines ? `${placeOf(one)} ${one.sub}` : one.offset)))];
  const marked = hits.find((one) => isSame(one, line));
  const at = areLines ? places.indexOf(marked && `${placeOf(marked)} ${marked.sub}`) : places.findIndex((offset) => offset >= line.offset);
  const before = at < 0 ? places.length : at;
  return { before, after: places.length - before - (marked ? 1 : 0) };
}

/** @param {any} one @param {any} line */
function isSame(one, line) {
  return placeOf(one) === placeOf(line) && (line.sub === undefined || (one.sub === line.sub && one.chunk === line.chunk));
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
    el("span", {}, el("a", { class: "when", href: href({ line: placeOf(line) }), title: `${at}: open this line` }, ofOneDay ? at.slice(11) : at), line.time === line.kafka_time && [" ", kafkaMark()]),
    levelMark(line.level),
    el("span", { class: "what" }, line.service && [el("bdi", { class: "service quiet" }, visible(line.service)), " "], logText(withoutHead(line.text, line), { words, most: CLAMPED })),
  );
}
