// One line, by its place in Kafka: what a link to a line opens.

import { get } from "./api.js";
import { clear, el } from "./dom.js";
import { hitOfLine } from "./hit.js";
import { lineParts } from "./line_parts.js";
import { visible } from "./log_text.js";
import { neighbours } from "./neighbours.js";
import { placeFrom } from "./search_request.js";
import { href, tabHref } from "./state.js";

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
      sayMissing(lines.length > 0);
      return;
    }
    clear(body, found.slice(0, 20).map((line) => lineParts(hitOfLine(line), line, { ...context, body: null })));
  }

  /** Say why the index does not hold the line: its record may be a dead letter. @param {boolean} hasNeighbours */
  async function sayMissing(hasNeighbours) {
    clear(body, el("p", {}, "The index does not hold this line."), el("p", { class: "quiet" }, "Looking for it among the dead letters …"));
    const why = await get("/api/dead-letters", { record: text, limit: 1 }, { signal: asked.signal }).then(({ letters }) => letters[0], () => null);
    if (asked.signal.aborted) return;
    if (!why) clear(body, el("p", {}, "The index does not hold this line: it was never indexed, or has been removed. ", hasNeighbours && "Its neighbours are below."));
    else clear(body, el("p", {}, why.replayed ? "The index does not hold this line, though its dead letter was replayed: " : "This record is a dead letter: ", el("strong", {}, el("bdi", {}, visible(why.reason)))), why.way_back && el("p", { class: "quiet" }, visible(why.way_back)), el("p", {}, el("a", { class: "button small", href: tabHref("letters") }, "Dead letters"), " ", el("code", {}, `vectail dlq show ${why.id}`)));
  }

  return { close: () => asked.abort(), more: around.more };
}
