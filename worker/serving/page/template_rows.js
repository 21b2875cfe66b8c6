// One family on the Templates tab: what its lines have in common, how many there are and when; opened, its newest line and its templates.

import { ask } from "./api.js";
import { moment } from "./card.js";
import { bars } from "./chart.js";
import { clear, el } from "./dom.js";
import { explain } from "./explain.js";
import { compact, factor, number, percent, plural, relative, time } from "./format.js";
import { levelMark, logText, visible } from "./log_text.js";
import { placeOf } from "./search_request.js";
import { tabHref } from "./state.js";

const MOST_CHARACTERS = 400;
const MOST_MEMBERS = 50;
/** Above, or below its inverse, a change of the rate stands out, as the worker's `up` and `down`. */
const CLEAR_RATIO = 2;
/** @typedef {"new" | "up" | "down" | "gone"} Change @type {Record<Change, string>} */
const CHANGES = { new: "new", up: "rising", down: "falling", gone: "gone" };
let rows = 0;

/**
 * @typedef {{words: string[], filters: Record<string, any>, signal: AbortSignal}} Shown
 * the words that are marked, and the filters under which the lines of a family are counted
 */

/**
 * Make the row of a family, as /api/templates or /api/compare gives it.
 * @param {any} family
 * @param {Shown} shown
 * @returns {{node: HTMLElement, family: string, lines: number, showCounts: (counts: number[]) => void, showShare: (total: number) => void,
 *   showBefore: (before: {first: number | null, isNew: boolean, ratio: number | null}) => void}} what is added to it later: lines over time,
 *   its share of all lines, when it was first seen (null: as it says already), and by what its lines changed (null: not known)
 */
export function templateRow(family, shown) {
  const id = `template-${++rows}`;
  const detail = el("div", { class: "opened", id, hidden: true });
  const badge = el("span", { class: ["chip", family.change ?? "new"], hidden: !family.change }, CHANGES[/** @type {Change} */ (family.change)] ?? "new");
  const against = el("span", { class: "against" });
  const spark = el("span", { class: "chart-cell" });
  const count = el("div", { class: "count num" }, family.change ? changeText(family) : countText(family, 0));
  const seen = el("span", { class: "seen quiet" }, seenText(family.first, family.last));
  const button = el(
    "button",
    { type: "button", class: "opens", "aria-expanded": "false", "aria-controls": id, onclick: toggle },
    family.name ? el("strong", { class: "given-name" }, visible(family.name)) : null,
    logText(family.text, { words: shown.words, most: MOST_CHARACTERS }),
  );
  const node = el(
    "li",
    { class: "template", "data-level": family.level ?? "" },
    el("div", { class: "text" }, family.level ? levelMark(family.level) : null, button, badge),
    count,
    spark,
    seen,
    detail,
  );

  function toggle() {
    const opens = detail.hidden;
    detail.hidden = !opens;
    button.setAttribute("aria-expanded", String(opens));
    node.classList.toggle("open", opens);
    if (opens && detail.childElementCount === 0) fill(detail, family, shown);
  }

  return {
    node,
    family: family.family,
    lines: family.lines,
    showCounts(counts) {
      const most = Math.max(...counts, 0);
      clear(spark, bars(counts, { label: most === 0 ? "No lines in this time" : `Lines over time: at most ${number(most)} in one of ${counts.length} parts of it` }));
    },
    showShare: (total) => void clear(count, countText(family, total), against),
    showBefore({ first, isNew, ratio }) {
      badge.hidden = !isNew;
      clear(against, ratio === null ? null : ratioText(ratio));
      if (first !== null) seen.replaceChildren(...seenText(first, family.last));
    },
  };
}

/** @param {number} first @param {number} last */
function seenText(first, last) {
  return [
    el("span", {}, "last ", moment(last, relative(last))),
    el("span", {}, "first ", moment(first, relative(first))),
  ];
}

/** @param {any} family @param {number} total */
function countText(family, total) {
  const share = total > 0 ? family.lines / total : null;
  return [
    el("span", { class: "value" }, compact(family.lines)),
    el("span", { class: "quiet" }, ` ${family.lines === 1 ? "line" : "lines"}${share === null ? "" : `, ${percent(Math.min(share, 1))}`}`),
    share === null ? null : el("span", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width: `${Math.min(share, 1) * 100}%` } })),
  ];
}

/** @param {any} family */
function changeText(family) {
  const { change, ratio, lines, before } = family;
  const [value, unit, meaning] = {
    new: [compact(lines), lines === 1 ? " line" : " lines", "none before"],
    gone: [compact(before), before === 1 ? " line" : " lines", "before, none now"],
    up: [`${factor(ratio)}×`, " as often", `${compact(before)} → ${compact(lines)} lines`],
    down: [percent(ratio ?? 0), " of before", `${compact(before)} → ${compact(lines)} lines`],
  }[/** @type {Change} */ (change)];
  const arrow = el("span", { "aria-hidden": "true" }, change === "new" || change === "up" ? "↑ " : "↓ ");
  return [el("span", { class: ["value", change] }, arrow, value, el("span", { class: "unit" }, unit)), el("span", { class: "quiet" }, meaning)];
}

/** How often it comes against before, with an arrow. @param {number} ratio */
function ratioText(ratio) {
  const [arrow, text] = ratio >= 1.05 ? ["↑", factor(ratio)] : ratio <= 0.95 ? ["↓", ratio < 0.01 ? "<0.01" : ratio.toFixed(2)] : ["=", "1"];
  const kind = ratio >= CLEAR_RATIO ? "up" : ratio <= 1 / CLEAR_RATIO ? "down" : "quiet";
  return el("span", { class: ["value", kind], title: "How often it comes, against the same length of time before" }, el("span", { "aria-hidden": "true" }, `${arrow} `), `${text}×`, el("span", { class: "visually-hidden" }, " as often as before"));
}

/** @param {HTMLElement} detail @param {any} family @param {Shown} shown */
async function fill(detail, family, shown) {
  const { filters } = shown;
  const inSearch = { family: [family.family], q: "", since: String(filters.since_ms ?? "all"), until: String(filters.until_ms ?? "") };
  const example = el("div", { class: "example" });
  const members = el("div", { class: "members" }, el("p", { class: "quiet" }, "Reading its templates …"));
  clear(
    detail,
    example,
    el("p", { class: "row" }, el("a", { class: "button small", href: tabHref("search", inSearch) }, "Search its lines"), el("span", { class: "quiet" }, `family ${family.family}`)),
    members,
  );
  if (family.example) showExample(example, family.example);
  try {
    const body = { as: "templates", expand: true, k: MOST_MEMBERS, filters: { ...filters, family: [family.family] } };
    const answer = await ask("/api/templates", body, { signal: shown.signal });
    showMembers(members, answer, family);
    if (!family.example && answer.templates[0]?.example) showExample(example, answer.templates[0].example);
  } catch (error) {
    if (shown.signal.aborted) return;
    const { what, todo } = explain(error);
    clear(members, el("p", { class: "bad" }, `Its templates cannot be listed. ${what} ${todo}`));
  }
}

/** @param {HTMLElement} node @param {any} example a line, or its text */
function showExample(node, example) {
  const line = typeof example === "string" ? { text: example } : example;
  const hasPlace = line.topic !== undefined && line.offset !== undefined;
  clear(
    node,
    el(
      "p",
      { class: "row quiet" },
      "Its newest line",
      line.time === undefined ? null : moment(line.time, time(line.time, { milliseconds: true })),
      line.level ? el("span", { class: "level", "data-level": line.level }, line.level) : null,
      line.service ? el("span", {}, visible(line.service)) : null,
      hasPlace ? el("a", { href: tabHref("search", { line: placeOf(line), q: "", family: [] }) }, visible(placeOf(line))) : null,
    ),
    logText(line.text, { most: 4_000 }),
  );
}

/** @param {HTMLElement} node @param {any} answer @param {any} family */
function showMembers(node, answer, family) {
  const list = answer.templates.map((/** @type {any} */ one) =>
    el("li", {}, el("span", { class: "num" }, compact(one.lines)), logText(one.text, { most: MOST_CHARACTERS }), el("code", { class: "quiet" }, String(one.template ?? "").slice(0, 8))),
  );
  if (list.length === 0) {
    clear(node, el("p", { class: "quiet" }, "None of its templates has lines in this time."));
    return;
  }
  const more = family.templates > list.length ? `, the ${list.length} most frequent of ${number(family.templates)}` : "";
  clear(node, el("p", {}, el("strong", {}, `Its ${plural(list.length, "template")}${more}`)), el("ul", { class: "member-list" }, list));
}
