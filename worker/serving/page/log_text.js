// How the text of a log line is shown: isolated (a right-to-left mark in it turns nothing around it), control characters visible, the
// question's words marked, and long ones cut.

import { el } from "./dom.js";
import { highlight } from "./format.js";

const MOST_HIDDEN = 2_000;
/** Control characters, marks that turn or hide text, and characters without width. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/**
 * Return an element with a log line's text.
 * @param {string | null} text null: the line was sampled, its text is not kept
 * @param {{words?: string[], most?: number}} [how] which words are marked; of a longer text only `most` characters are shown
 * @returns {HTMLElement}
 */
export function logText(text, { words = [], most = Infinity } = {}) {
  if (text === null || text === undefined) return el("span", { class: "log sampled" }, "(sampled: the text of this line is not kept)");
  const shown = text.length > most ? cut(text, most) : text;
  const parts = [];
  let place = 0;
  for (const [start, end] of highlight(shown, words)) {
    parts.push(...visible(shown.slice(place, start)), el("mark", {}, ...visible(shown.slice(start, end))));
    place = end;
  }
  parts.push(...visible(shown.slice(place)));
  if (shown.length < text.length) parts.push(el("span", { class: "cut" }, ` … ${text.length - shown.length} more characters`));
  return el("bdi", { class: "log", dir: "ltr" }, parts);
}

/**
 * Return a text as nodes in which characters that cannot be seen have a name: a tab and a line break stay.
 * @param {string} text
 * @returns {(string | HTMLElement)[]}
 */
export function visible(text) {
  const parts = [];
  let place = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (parts.length > MOST_HIDDEN) break;
    parts.push(text.slice(place, found.index), el("span", { class: "hidden-character" }, nameOf(found[0])));
    place = found.index + found[0].length;
  }
  parts.push(parts.length > MOST_HIDDEN ? text.slice(place).replace(HIDDEN, "\ufffd") : text.slice(place));
  return parts.filter((part) => part !== "");
}

/** A level as colour and text. @param {string} level */
export function levelMark(level) {
  return el("span", { class: "level", "data-level": level }, level || "–", !level && el("span", { class: "visually-hidden" }, " no level"));
}

/** What stands beside a time that the line does not name: it is when the line reached Kafka. */
export function kafkaMark() {
  return el("abbr", { class: "kafka-time", title: "This is when it reached Kafka: the line names no time" }, "Kafka");
}

/** @param {string} character */
function nameOf(character) {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** @param {string} text @param {number} most */
function cut(text, most) {
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}
