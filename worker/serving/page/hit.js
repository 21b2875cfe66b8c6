// One hit: a family of lines with what stands for it, closed or open. Search answers with lines, a listing with families; both become a
// Hit here, and the rest of the page knows no difference.

import { clear, el } from "./dom.js";
import { compact, factor, plural, relative, time, when } from "./format.js";
import { kafkaMark, levelMark, logText, visible } from "./log_text.js";
import { openDetail } from "./hit_detail.js";
import { withoutHead } from "./line_head.js";

/**
 * @typedef {{key: string, family: string, name: string, text: string | null, templateText: string, line: any, score: number | null, similarity: string, alike: {family: string, word: string}[], lines: number | null,
 *   templates: number | null, first: number | null, last: number | null, level: string, service: string, isKafkaTime: boolean, change?: string, ratio?: number | null, isLine: boolean}} Hit `isLine`: it stands
 *   for itself, not for its family
 * @typedef {{hit: Hit, node: HTMLElement, button: HTMLButtonElement, toggle: (open?: boolean) => void, isOpen: () => boolean, more: () => void,
 *   setSpark: (chart: Element | null, first: number, last: number) => void, setColumns: (columns: [string, string][]) => void, close: () => void}} HitRow
 */

const CLAMPED = 600;
/** Lines of a text that a closed hit shows. */
const MOST_LINES = 3;
const FIRST_WORDS = 5;

/** Make a Hit of a line that stands for itself: it has an id that was asked for, or its family was chosen. @param {any} line @returns {Hit} */
export function hitOfOneLine(line) {
  return { ...hitOfLine(line), isLine: true, score: null, lines: null, templates: null, first: null, last: null };
}

/** Make a Hit of a line that stands for its family. @param {any} line @returns {Hit} */
export function hitOfLine(line) {
  return {
    key: line.id, family: line.family ?? "", name: line.name ?? "", text: line.text, templateText: line.template_text ?? "", line, score: line.score ?? null, similarity: line.similarity ?? "", alike: line.alike ?? [],
    lines: line.family_lines ?? null, templates: line.family_templates ?? null, first: line.family_first ?? null, last: line.family_last ?? null,
    level: line.level ?? "", service: line.service ?? "", isKafkaTime: line.time === line.kafka_time, isLine: false,
  };
}

/** Make a Hit of a family that a listing answered with. @param {any} family @returns {Hit} */
export function hitOfFamily(family) {
  return {
    key: family.family, family: family.family, name: family.name ?? "", text: family.example ?? family.text, templateText: family.text, line: null, score: family.score ?? null, similarity: family.similarity ?? "", alike: [],
    lines: family.lines, templates: family.templates, first: family.first, last: family.last, level: family.level ?? "", service: family.service ?? "", isKafkaTime: family.time !== undefined && family.time === family.kafka_time, change: family.change, ratio: family.ratio, isLine: false,
  };
}

/**
 * Make the row of a hit.
 * @param {Hit} hit
 * @param {{words: string[], best: number, context: import("./hit_detail.js").Context}} how `best`: the highest score on the page
 * @returns {HitRow}
 */
export function hitRow(hit, { words, best, context }) {
  const id = `hit-${hit.key.replace(/[^A-Za-z0-9]/g, "-")}`;
  const spark = el("span", { class: "spark-slot" });
  const seen = el("span", { class: "seen" }, seenText(hit));
  const columns = el("span", { class: "labels" });
  const detail = el("div", { class: "detail", id: `${id}-detail`, hidden: true });
  const button = el("button", { type: "button", class: "hit-line", "aria-expanded": "false", "aria-controls": detail.id, onclick: () => toggle() }, messageOf(hit, words));
  const node = el(
    "li",
    { class: "hit card", "data-level": hit.level },
    el("div", { class: "hit-head" }, el("span", {}, levelMark(hit.level)), el("h3", {}, hit.name && el("bdi", { class: "chip name" }, visible(hit.name.slice(0, 100))), button), !hit.isLine && figures(hit, best, spark),
      el("p", { class: "hit-meta quiet" }, hit.change && changeChip(hit), hit.service && el("bdi", { class: "service" }, visible(hit.service)), columns, seen, hit.templates !== null && hit.templates > 1 && el("span", {}, plural(hit.templates, "template")), hit.alike.length > 0 && el("span", { class: "alike" }, alikeText(hit)))),
    detail,
  );
  /** @type {import("./hit_detail.js").Detail | null} */
  let opened = null;

  /** @param {boolean} [open] */
  function toggle(open = detail.hidden) {
    if (open === !detail.hidden) return;
    detail.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    node.classList.toggle("open", open);
    if (open) opened = openDetail(detail, hit, context);
    else end();
  }

  function end() {
    opened?.close();
    opened = null;
    clear(detail);
  }

  return {
    hit, node, button, toggle, close: end,
    isOpen: () => !detail.hidden,
    more: () => {
      toggle(true);
      opened?.more();
    },
    setSpark(chart, first, last) {
      clear(spark, chart);
      hit.first ??= first;
      hit.last ??= last;
      clear(seen, seenText(hit));
    },
    setColumns: (found) => void clear(columns, found.map(([name, value]) => el("span", { title: `${name}: ${value}`.slice(0, 1_000) }, el("bdi", { class: "quiet" }, visible(name.slice(0, 60))), " ", el("bdi", { class: "log" }, visible(value.slice(0, 120)))))),
  };
}

/** The message and nothing else: the line as it is comes when the hit is opened. @param {Hit} hit @param {string[]} words */
function messageOf(hit, words) {
  const text = withoutHead(hit.text, hit);
  const lines = (text ?? "").split("\n");
  if (text === null || lines.length <= MOST_LINES) return logText(text, { words, most: CLAMPED });
  return [logText(lines.slice(0, MOST_LINES).join("\n"), { words, most: CLAMPED }), el("span", { class: "cut" }, plural(lines.length - MOST_LINES, "more line"))];
}

/** @param {Hit} hit @param {number} best @param {Element} spark */
function figures(hit, best, spark) {
  const share = hit.score === null || hit.similarity || best <= 0 ? null : Math.max(Math.min(hit.score / best, 1), 0.02);
  return el(
    "div",
    { class: "figures" },
    spark,
    hit.lines !== null && el("span", { class: "count num", title: plural(hit.lines, "line") }, el("strong", {}, compact(hit.lines)), hit.lines === 1 ? " line" : " lines"),
    hit.score !== null && hit.similarity && el("span", { class: ["similarity", hit.similarity], title: `Similarity: cosine ${hit.score.toFixed(3)}` }, el("span", { class: "visually-hidden" }, "similarity "), hit.similarity, " ", el("span", { class: "num quiet" }, hit.score.toFixed(2))),
    share !== null && el("span", { class: "score", title: `Score ${hit.score}` }, el("span", { class: "visually-hidden" }, `Score ${hit.score}`), el("span", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width: `${Math.round(share * 100)}%` } }))),
  );
}

/** @param {Hit} hit */
function changeChip({ change, ratio }) {
  return el("span", { class: ["chip", change] }, change === "new" ? "new" : `↑ ${factor(ratio ?? 1)}× as often as before`);
}

/** @param {Hit} hit */
function alikeText({ alike }) {
  const words = alike.slice(0, FIRST_WORDS).map(({ word }) => word).join(", ");
  return visible(`and ${alike.length} more that ${alike.length === 1 ? "differs" : "differ"} in one word: ${words}${alike.length > FIRST_WORDS ? " …" : ""}`);
}

/** @param {Hit} hit */
function seenText(hit) {
  const last = hit.last ?? hit.line?.time ?? null;
  if (last === null) return "";
  const text = `${hit.lines === 1 && hit.last !== null ? "seen" : hit.last === null ? "logged" : "last seen"} ${when(last)}, ${relative(last)}`;
  const first = hit.first !== null && hit.lines !== 1 && `first ${when(hit.first)}`;
  return el("span", { title: hit.first === null ? time(last) : `${time(hit.first)} – ${time(last)}` }, text, hit.isKafkaTime && [" ", kafkaMark()], first && " · ", first);
}
