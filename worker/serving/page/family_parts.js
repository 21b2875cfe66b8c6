// The other lines and the templates of a family: asked for when their button is pressed.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";
import { number, plural, relative } from "./format.js";
import { lineRow } from "./neighbours.js";
import { logText } from "./log_text.js";
import { membersBody, newestBody } from "./search_request.js";
import { statusLine } from "./status.js";
import { href } from "./state.js";

/** @typedef {import("./hit.js").Hit} Hit @typedef {import("./hit_detail.js").Context} Context */

/**
 * The newest lines of the family.
 * @param {Hit} hit @param {Context} context @param {AbortSignal} signal
 */
export function familyLines(hit, context, signal) {
  let count = 0;
  const list = el("ol", { class: "lines" });
  const many = hit.lines === null ? "Lines of this family" : `Lines of this family (${number(hit.lines)})`;
  const part = foldedPart(many, list, signal, async () => {
    count = count === 0 ? 10 : Math.min(count * 3, 300);
    const { hits, complete } = await ask("/api/search", newestBody(context.state, context.range, hit.family, count), { signal });
    clear(list, hits.map((/** @type {any} */ line) => lineRow(line, context.words)));
    const text = hits.length === 0 ? `There are none ${context.range.label}.` : `The newest ${plural(hits.length, "line")} ${context.range.label}.`;
    return { text: complete ? text : `${text} Some could not be read in time.`, hasMore: hits.length >= count && count < 300 };
  });
  return part;
}

/**
 * The templates of the family, with how often each came.
 * @param {Hit} hit @param {Context} context @param {AbortSignal} signal
 */
export function familyTemplates(hit, context, signal) {
  const body = el("tbody");
  const head = ["Lines", "Last", "Template"].map((name) => el("th", { scope: "col", class: name === "Lines" && "num" }, name));
  const table = el("table", { class: "templates", hidden: true }, el("thead", {}, el("tr", {}, head)), body);
  return foldedPart(hit.templates === null ? "Templates" : `Templates (${number(hit.templates)})`, table, signal, async () => {
    const { templates } = await ask("/api/search", membersBody(context.state, context.range, hit.family), { signal });
    clear(body, templates.map((/** @type {any} */ one) =>
      el("tr", {}, el("td", { class: "num" }, number(one.lines)), el("td", {}, relative(one.last)),
        el("td", {}, el("a", { class: "template-link", href: href({ q: "", mode: "", family: [], template: [one.template], line: "", k: "" }), title: "Lines of this template" }, logText(one.text, { most: 500 }))))));
    table.hidden = templates.length === 0;
    return { text: `${plural(templates.length, "template")} ${context.range.label}.`, hasMore: false };
  });
}

/**
 * @param {string} title @param {HTMLElement} content @param {AbortSignal} signal
 * @param {() => Promise<{text: string, hasMore: boolean}>} fetchPart
 */
function foldedPart(title, content, signal, fetchPart) {
  const status = statusLine();
  const button = el("button", { type: "button", class: "small", onclick: load }, title);
  const node = el("section", { class: "part", "aria-label": title.replace(/ \(.*/, "") }, button, status.node, content);
  signal.addEventListener("abort", status.close);

  async function load() {
    status.busy("Reading …");
    button.disabled = true;
    try {
      const { text, hasMore } = await fetchPart();
      status.say(text);
      button.textContent = hasMore ? "More lines" : title;
      button.hidden = !hasMore;
    } catch (error) {
      if (!signal.aborted) status.problem(error, load);
    }
    button.disabled = false;
  }

  return { node, more: () => !button.disabled && !button.hidden && load() };
}
