// A line in full: what can be done with it, its text with the line breaks that it has, its fields; or all of it as JSON.

import { copy } from "./commands.js";
import { clear, el } from "./dom.js";
import { plural } from "./format.js";
import { actionsOf } from "./hit_actions.js";
import { fieldTable } from "./line_fields.js";
import { logText, visible } from "./log_text.js";

/** A text of more lines is folded to as many. */
const MOST_LINES = 20;

/**
 * @param {import("./hit.js").Hit} hit
 * @param {any} line
 * @param {import("./hit_detail.js").Context} context
 * @returns {HTMLElement[]}
 */
export function lineParts(hit, line, context) {
  const text = el("div", { class: "full-text", tabindex: 0, role: "region", "aria-label": "Text of the line" }, unfolding(line.text, context.words));
  const fields = fieldTable(line, hit);
  const json = el("div", { class: "json-view", hidden: true });
  const toggle = el("button", { type: "button", class: "small", "aria-pressed": "false", title: "The line as the worker answers it", onclick: () => show(json.hidden) }, "JSON");
  const actions = actionsOf(hit, line, context, toggle);

  /** @param {boolean} isJson */
  function show(isJson) {
    toggle.setAttribute("aria-pressed", String(isJson));
    if (isJson) clear(json, jsonOf(line, context));
    json.hidden = !isJson;
    text.hidden = fields.hidden = isJson;
  }

  return [actions, text, json, fields];
}

/** @param {any} line @param {import("./hit_detail.js").Context} context */
function jsonOf(line, context) {
  const text = JSON.stringify(line, null, 2);
  const take = async () => context.say((await copy(text)) ? "Copied: Line as JSON." : "The browser does not let this page copy.");
  return [
    el("pre", { class: "full-text log", tabindex: 0, role: "region", "aria-label": "The line as JSON" }, visible(text)),
    el("button", { type: "button", class: "small", onclick: take }, "Copy JSON"),
  ];
}

/** @param {string | null} text @param {string[]} words */
function unfolding(text, words) {
  const lines = (text ?? "").split("\n");
  if (text === null || lines.length <= MOST_LINES) return logText(text, { words });
  const node = el("div", {}, logText(lines.slice(0, MOST_LINES).join("\n"), { words }));
  const more = el("button", { type: "button", class: "link", onclick: () => clear(node, logText(text, { words })) }, plural(lines.length - MOST_LINES, "more line", "more lines"));
  node.append(el("div", {}, more));
  return node;
}
