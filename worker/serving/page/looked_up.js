// What kind of line the question is, if it is a line that somebody pasted: how often such lines came, since when, and whether that is new.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";
import { number, plural, relative, time } from "./format.js";
import { visible } from "./log_text.js";
import { href } from "./state.js";

const LEAST_WORDS = 3;
/** What makes a text a question with operators. */
const OPERATORS = /(?:^|\s)(?:-[A-Za-z"]|OR\s|(?:service|level|topic|template|family|field|trace-id):\S)/;

/**
 * @returns {{node: HTMLElement, update: (state: any, signal: AbortSignal) => Promise<void>}}
 */
export function lookedUp() {
  const node = el("p", { class: "looked-up", role: "status", "aria-label": "The line that you pasted" });

  /** @param {any} state @param {AbortSignal} signal */
  async function update(state, signal) {
    clear(node);
    const line = state.q.trim();
    if (!isLikeLine(line)) return;
    const answer = await ask("/api/lookup", { line }, { signal }).catch(() => null); // no loss: the hits are there
    if (answer?.found && !signal.aborted) clear(node, sentence(answer));
  }

  return { node, update };
}

/** Most questions are none: a line has several words, and something that varies. @param {string} text */
function isLikeLine(text) {
  return text.split(/\s+/).length >= LEAST_WORDS && /[\d[\]{}<>=|;]/.test(text) && !OPERATORS.test(text);
}

/** @param {any} answer */
function sentence({ templates, is_new: isNew }) {
  const [first] = templates;
  const lines = templates.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.lines, 0);
  const since = Math.min(...templates.map((/** @type {any} */ one) => one.first));
  const family = { q: "", mode: "", template: templates.map((/** @type {any} */ one) => one.template), line: "", k: "" };
  return [
    isNew ? el("span", { class: "chip" }, "new") : null,
    " Lines like this one: ",
    el("strong", {}, `${number(lines)}`),
    `, since ${time(since)} (${relative(since)}), as `,
    el("bdi", { class: "log" }, visible(first.text.slice(0, 200))),
    templates.length > 1 ? ` and ${plural(templates.length - 1, "other template")}` : "",
    ". ",
    el("a", { href: href(family) }, "Only these"),
  ];
}
