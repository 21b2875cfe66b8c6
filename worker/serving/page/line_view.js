// One line, by its place in Kafka: what a link to a line opens.

import { clear, el } from "./dom.js";
import { actionsOf } from "./hit_actions.js";
import { fieldTable } from "./line_fields.js";
import { hitOfLine } from "./hit.js";
import { logText, visible } from "./log_text.js";
import { neighbours } from "./neighbours.js";
import { placeFrom } from "./search_request.js";
import { href } from "./state.js";

/**
 * Show a line and its neighbours.
 * @param {HTMLElement} node
 * @param {string} text such as "logs/0@123"
 * @param {import("./hit_detail.js").Context} context
 * @returns {{close: () => void, more: () => void}}
 */
export function showLine(node, text, context) {
  const asked = new AbortController();
  const back = el("a", { class: "button small", href: href({ line: "" }) }, "← Back to the search");
  const place = placeFrom(text);
  if (place === null) {
    clear(node, back, el("p", { class: "status", "data-kind": "problem" }, el("strong", {}, "This link names no line. "), "It should look like ", el("code", {}, "logs/0@123"), ": topic, partition, offset."));
    return { close: () => {}, more: () => {} };
  }
  const body = el("div", {}, el("p", { class: "quiet" }, "Looking for it among its neighbours …"));
  const around = neighbours(place, context, asked.signal, show);
  clear(node, back, el("article", { class: "card line-view", "aria-labelledby": "line-title" }, el("h2", { id: "line-title" }, "Line ", el("bdi", {}, visible(text))), body, around.node));

  /** @param {any[]} lines */
  function show(lines) {
    const found = lines.filter((one) => one.offset === place?.offset);
    if (found.length === 0) {
      clear(body, el("p", {}, "The index does not hold this line: it was never indexed, or has been removed. ", lines.length > 0 && "Its neighbours are below."));
      return;
    }
    clear(body, found.slice(0, 20).map((line) => [
      actionsOf(hitOfLine(line), line, { ...context, body: null }),
      el("div", { class: "full-text", tabindex: 0, role: "region", "aria-label": "Text of the line" }, logText(line.text, { words: context.words })),
      fieldTable(line, null),
    ]));
  }

  return { close: () => asked.abort(), more: around.more };
}
