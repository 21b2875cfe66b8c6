// All kept fields of the lines that match, to pick from: one that is picked becomes a facet, with its figures; the button beside it shows its
// value with each hit.

import { clear, el } from "./dom.js";
import { compact, plural } from "./format.js";
import { visible } from "./log_text.js";
import { go, read } from "./state.js";
import { statusLine } from "./status.js";

/** From so many fields on, there is a box to find one in. */
const MANY = 12;

/** @typedef {{name: string, lines?: number}} OfferedField `lines`: how many have it, where that is known */

/**
 * @param {() => unknown} want called when somebody looks: `offer` is to be called with the fields then
 * @returns {{node: HTMLElement, offer: (fields: OfferedField[], isComplete?: boolean) => void, update: (state: any) => void, fail: (error: any) => void}}
 */
export function fieldList(want) {
  /** @type {OfferedField[]} */
  let offered = [];
  const sought = el("input", { type: "search", autocomplete: "off", spellcheck: "false", maxlength: 256, placeholder: "Find a field", "aria-label": "Find a field", oninput: draw });
  const list = el("ul", { class: "field-list" });
  const status = statusLine();
  const node = el("details", { class: "fields-fold", ontoggle: () => node.open && look() }, el("summary", {}, "Fields"), sought, list, status.node);
  sought.hidden = true;

  function look() {
    if (offered.every(({ lines }) => lines === undefined)) status.busy("Looking at the fields of all lines …");
    want();
  }

  function draw() {
    const state = read();
    const there = new Set(offered.map(({ name }) => name));
    const all = [...state.column.filter((/** @type {string} */ name) => !there.has(name)).map((/** @type {string} */ name) => ({ name })), ...offered];
    const words = sought.value.trim().toLowerCase();
    sought.hidden = all.length < MANY && words === "";
    const focused = /** @type {HTMLElement | null} */ (list.contains(document.activeElement) ? document.activeElement : null)?.dataset.key;
    clear(list, all.filter(({ name }) => name.toLowerCase().includes(words)).map((one) => rowOf(one, state)));
    if (focused) [...list.querySelectorAll("button")].find((one) => one.dataset.key === focused)?.focus();
  }

  return {
    node,
    update: () => node.open && draw(),
    offer(fields, isComplete = true) {
      const isCounted = fields.every(({ lines }) => lines !== undefined);
      if (!isCounted && node.open && offered.length > 0) return void want(); // what is there stays until the new counts come
      offered = fields;
      if (fields.length === 0) status.say("These lines have no fields.");
      else if (isCounted) status.say(isComplete ? "" : "At least; not all lines could be read in time.");
      draw();
    },
    fail: (error) => status.problem(error, look),
  };
}

/** @param {OfferedField} field @param {any} state */
function rowOf({ name, lines }, state) {
  const isShown = state.facet.includes(name);
  const isColumn = state.column.includes(name);
  return el(
    "li",
    {},
    el("button", { type: "button", class: "pick", "data-key": `facet ${name}`, "aria-pressed": String(isShown), title: `${name}: its values and figures`, onclick: () => go({ facet: toggled(read().facet, name) }) }, el("bdi", {}, visible(name.slice(0, 120)))),
    el("span", { class: "num quiet", title: lines === undefined ? null : plural(lines, "line") }, lines === undefined ? "" : compact(lines)),
    el("button", { type: "button", class: "small not", "data-key": `column ${name}`, "aria-pressed": String(isColumn), "aria-label": `Show ${name} with each hit`, title: isColumn ? "Shown with each hit; press to take it away" : "Show it with each hit", onclick: () => go({ column: toggled(read().column, name) }) }, "show"),
  );
}

/** @param {string[]} names @param {string} name */
function toggled(names, name) {
  return names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
}
