// The boxes that a view is made of: a titled section, and figures with a name.

import { el } from "./dom.js";
import { time } from "./format.js";
import { zoneOffset } from "./zone.js";
import { visible } from "./log_text.js";

let cards = 0;

/**
 * Make a titled section. `body` is what is filled; `note` stands beside the title.
 * @param {string} title
 * @param {{class?: string, level?: number}} [how]
 * @returns {{node: HTMLElement, body: HTMLElement, note: HTMLElement}}
 */
export function card(title, { class: kind = "", level = 2 } = {}) {
  const id = `card-${++cards}`;
  const body = el("div", { class: "body" });
  const note = el("span", { class: "quiet note" });
  const head = el("div", { class: "head" }, el(`h${level}`, { id }, title), note);
  return { node: el("section", { class: ["card", kind], "aria-labelledby": id }, head, body), body, note };
}

/**
 * Make a figure: its name, its value, and in smaller type what it means.
 * @param {string} name
 * @param {any} value
 * @param {any} [meaning]
 * @param {{kind?: "" | "ok" | "warn" | "bad", chart?: Element | null, isOld?: boolean}} [how]
 */
export function figure(name, value, meaning = "", { kind = "", chart = null, isOld = false } = {}) {
  return el(
    "div",
    { class: ["figure", kind, isOld && "old"] },
    el("dt", {}, name),
    el("dd", {}, el("span", { class: "value" }, value), chart, el("span", { class: "quiet" }, meaning)),
  );
}

/**
 * Make a word that says how something is: with a sign beside the colour, for who sees no colours.
 * @param {"ok" | "warn" | "bad" | "none"} kind
 * @param {string} word
 */
export function verdict(kind, word) {
  const sign = { ok: "✓", warn: "!", bad: "✕", none: "·" }[kind];
  return el("span", { class: ["verdict", kind] }, el("span", { "aria-hidden": "true" }, sign), word);
}

/**
 * Make a time that machines can read too.
 * @param {number} ms
 * @param {string} text what is shown
 */
export function moment(ms, text) {
  const at = new Date(ms);
  const known = !Number.isNaN(at.getTime());
  return el("time", { datetime: known ? at.toISOString() : null, title: known ? `${time(ms)} ${zoneOffset(ms)}` : null }, text);
}

/**
 * Return a sentence of the worker as nodes: what stands in backticks is code.
 * @param {string} text
 * @returns {any[]}
 */
export function prose(text) {
  return String(text).split("`").map((part, place) => (place % 2 === 1 ? el("code", {}, visible(part)) : visible(part)));
}
