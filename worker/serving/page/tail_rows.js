// One line on the Live tab.

import { el } from "./dom.js";
import { day, time } from "./format.js";
import { withoutHead } from "./line_head.js";
import { kafkaMark, logText, visible } from "./log_text.js";
import { placeOf } from "./search_request.js";
import { NO_FILTERS, tabHref, visit } from "./state.js";

const MOST_CHARACTERS = 2_000;

/**
 * @param {any} line
 * @param {string[]} words that are marked
 * @returns {HTMLElement}
 */
export function tailRow(line, words) {
  const href = tabHref("search", { ...NO_FILTERS, line: placeOf(line), q: "", since: "", until: "" });
  const when = time(line.time, { milliseconds: true });

  /** Open the line, unless somebody selects text or follows a link. @param {MouseEvent} event */
  function press(event) {
    if (event.target instanceof Element && event.target.closest("a")) return;
    if (String(getSelection() ?? "") === "") visit(href);
  }

  return el(
    "li",
    { class: "tail-line", "data-level": line.level ?? "", "data-time": line.time, onclick: press },
    el("span", {}, el("a", { href, class: "when", "aria-label": `${when}: open in Search`, title: `${when}: open in Search` }, when.startsWith(day(Date.now())) ? when.slice(11) : when.slice(5)), line.time === line.kafka_time && [" ", kafkaMark()]),
    line.level ? el("span", { class: "level", "data-level": line.level }, line.level) : el("span", {}),
    el("span", { class: "service quiet" }, el("bdi", {}, visible(line.service || ""))),
    logText(withoutHead(line.text, line), { words, most: MOST_CHARACTERS }),
  );
}
