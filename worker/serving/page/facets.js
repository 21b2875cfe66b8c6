// How the lines that match divide by service, level, topic and any kept field; a value is chosen with its checkbox, or left out with the button
// beside it. A facet counts the values that it does not ask for, or leaves out, too, so that the choice can be changed. All are counted
// together with the histogram, and alone where only they have changed; nothing is counted while they cannot be seen.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";
import { fieldFigures, whyFieldIsCut } from "./field_figures.js";
import { fieldList } from "./field_list.js";
import { compact, plural } from "./format.js";
import { visible } from "./log_text.js";
import { countsBody, MOST_FACETS } from "./search_request.js";
import { statusLine } from "./status.js";
import { go, read } from "./state.js";

const FIRST = 8;
const ALL = 100;
/** Rows for which there is room until the values of a facet are known. */
const ROOM = /** @type {Record<string, number>} */ ({ level: 5, topic: 1 });
const FIXED = /** @type {[string, string][]} */ ([["level", "Level"], ["service", "Service"], ["topic", "Topic"]]);

/**
 * @param {() => unknown} wantNames called when somebody is about to pick a field: `offer` may be called with names then
 * @returns {{node: HTMLElement, top: () => number, wanted: (state: any) => string[],
 *   wait: (state: any, range: any, signal: AbortSignal) => void, show: (groups: any[]) => void, fail: (error: any) => void, load: (state: any, range: any, signal: AbortSignal) => Promise<void>,
 *   offer: (fields: import("./field_list.js").OfferedField[], isComplete?: boolean) => void, failNames: (error: any) => void}}
 */
export function facets(wantNames) {
  /** @type {Map<string, ReturnType<typeof facetBox>>} */
  const boxes = new Map();
  const [list, ofFields] = [el("div", { class: "facet-list" }), el("div", { class: "facet-list" })];
  const fields = fieldList(wantNames);
  const fold = el("details", { class: "facets-fold", open: matchMedia("(min-width: 900px)").matches, ontoggle: () => fold.open && again() }, el("summary", {}, "Facets"), list, fields.node, ofFields);
  const node = el("aside", { class: "facets", "aria-label": "Facets" }, fold);
  /** @type {{state: any, range: any, signal: AbortSignal} | null} */
  let asked = null;

  /** Return what is to be counted by, if facets can be seen: each gets a box. @param {any} state */
  function wanted(state) {
    const picked = new Set([...state.facet, ...Object.keys(state.fields), ...Object.keys(state.not_fields)]);
    const shown = [...FIXED, ...[...picked].map((field) => /** @type {[string, string]} */ ([`field:${field}`, field]))].slice(0, MOST_FACETS);
    for (const facet of boxes.keys()) if (!shown.some(([one]) => one === facet)) boxes.delete(facet);
    for (const [facet, title] of shown) if (!boxes.has(facet)) boxes.set(facet, facetBox(facet, title, again));
    const nodes = shown.map(([facet]) => boxes.get(facet)?.node);
    fill(list, nodes.slice(0, FIXED.length));
    fill(ofFields, nodes.slice(FIXED.length));
    fields.update(state);
    return fold.open ? shown.map(([facet]) => facet) : [];
  }

  /** How many values are to be counted: one more tells that there are more. */
  const top = () => Math.max(FIRST, ...[...boxes.values()].map((box) => box.top())) + 1;

  /** The facets of this question are being counted. @param {any} state @param {any} range @param {AbortSignal} signal */
  function wait(state, range, signal) {
    asked = { state, range, signal };
    if (fold.open) for (const box of boxes.values()) box.wait();
  }

  /** @param {any[]} groups counts by each facet */
  const show = (groups) => groups.forEach((counts) => boxes.get(counts.by[0])?.show(asked?.state, counts));

  /** @param {any} error */
  function fail(error) {
    if (fold.open) for (const box of boxes.values()) box.fail(error);
  }

  /** Count the facets and nothing else. @param {any} state @param {any} range @param {AbortSignal} signal */
  async function load(state, range, signal) {
    const facets = wanted(state);
    wait(state, range, signal);
    if (facets.length > 0) await ask("/api/counts", countsBody(state, range, facets, top(), false), { signal }).then(({ groups }) => show(groups), (error) => signal.aborted || fail(error));
  }

  const again = () => asked && load(asked.state, asked.range, asked.signal);

  return { node, top, wanted, wait, show, fail, load, offer: fields.offer, failNames: fields.fail };
}

/** Put these into a node, unless they are there: one that stays where it is keeps the focus. @param {HTMLElement} node @param {any[]} children */
function fill(node, children) {
  if (node.children.length !== children.length || children.some((one, place) => node.children[place] !== one)) clear(node, children);
}

/** @param {string} facet @param {string} title @param {() => unknown} again counts all facets once more */
function facetBox(facet, title, again) {
  const isField = facet.startsWith("field:");
  const field = facet.slice(6);
  const status = statusLine();
  const list = el("ul");
  const all = el("button", { type: "button", class: "small", hidden: true, onclick: () => ((top = ALL), again()) }, "More values");
  const drop = isField && el("button", { type: "button", class: "icon", "aria-label": `Remove the facet ${field}`, title: "Remove this facet", onclick: remove }, "×");
  const figures = el("div", { class: "field-figures" });
  const node = el("fieldset", { class: "facet" }, el("legend", {}, el("bdi", {}, visible(title)), drop), isField && figures, list, all, status.node);
  let top = FIRST;

  function remove() {
    const state = read();
    const { [field]: _dropped, ...fields } = state.fields;
    const { [field]: _excluded, ...not_fields } = state.not_fields;
    go({ facet: state.facet.filter((one) => one !== field), fields, not_fields });
  }

  function wait() {
    if (list.children.length === 0) clear(list, Array.from({ length: ROOM[facet] ?? FIRST }, () => el("li", { class: "room", "aria-hidden": "true" })));
    node.classList.add("waiting");
    node.setAttribute("aria-busy", "true");
  }

  /** @param {any} state @param {any} found counts by this facet */
  function show(state, answer) {
    const { counts } = answer;
    const [chosen, excluded] = ["", "not_"].map((prefix) => new Set(valuesOf(state, prefix, facet)));
    const focused = list.contains(document.activeElement) ? /** @type {HTMLInputElement} */ (document.activeElement) : null;
    const values = counts.slice(0, top).map((/** @type {any} */ one) => ({ value: one[facet], lines: one.lines }));
    for (const value of [...chosen, ...excluded]) if (!values.some((/** @type {any} */ one) => one.value === value)) values.push({ value, lines: 0 });
    const isWithout = (/** @type {any} */ one) => isField && one.value === ""; // which is no value, and would make the others' bars too short to see
    const most = Math.max(1, ...values.map((/** @type {any} */ one) => (isWithout(one) ? 0 : one.lines)));
    clear(list, values.map((/** @type {any} */ one) => valueRow(facet, title, one, most, { isChosen: chosen.has(one.value), isExcluded: excluded.has(one.value) })));
    if (focused !== null) [...list.querySelectorAll(focused.tagName)].map((one) => /** @type {HTMLInputElement} */ (one)).find((one) => one.value === focused.value)?.focus();
    all.hidden = counts.length <= top || top >= ALL;
    if (answer.statistics) clear(figures, fieldFigures(answer.statistics));
    const cut = answer.complete ? "" : "At least; not all lines could be counted in time.";
    status.say(values.length === 0 ? "None." : isField ? whyFieldIsCut(answer) : cut);
    stopWaiting();
  }

  function stopWaiting() {
    node.classList.remove("waiting");
    node.removeAttribute("aria-busy");
  }

  /** @param {any} error */
  function fail(error) {
    status.problem(error, again);
    stopWaiting();
  }

  return { node, top: () => top, wait, show, fail };
}

/**
 * @param {string} facet @param {string} title @param {{value: string, lines: number}} counted @param {number} most
 * @param {{isChosen: boolean, isExcluded: boolean}} now
 */
function valueRow(facet, title, { value, lines }, most, { isChosen, isExcluded }) {
  const text = value === "" ? (facet.startsWith("field:") ? "(without it)" : "(none)") : value;
  const box = el("input", { type: "checkbox", value, checked: isChosen, onchange: () => choose(facet, value, box.checked ? "" : null) });
  // No line has the empty value of a field that counts those without it, so there is nothing to leave out.
  const not = (value !== "" || !facet.startsWith("field:")) && el("button", { type: "button", class: "small not", value, "aria-pressed": String(isExcluded), "aria-label": `Exclude ${title}: ${text.slice(0, 80)}`, title: isExcluded ? "Left out; press to take it back" : "Leave these lines out", onclick: () => choose(facet, value, isExcluded ? null : "not_") }, "not");
  const level = facet === "level" ? { "data-level": value } : {};
  return el(
    "li",
    { ...level, class: isExcluded && "excluded" },
    el("label", { title: `${title}: ${text.slice(0, 300)}, ${plural(lines, "line")}` }, box, el("bdi", { class: "facet-value" }, visible(text.slice(0, 120))), el("span", { class: "num quiet" }, compact(lines))),
    not,
    el("span", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width: `${facet.startsWith("field:") && value === "" ? 0 : Math.max((lines / most) * 100, lines ? 1 : 0)}%` } })),
  );
}

/** The values of a facet that are asked for, or with `not_` left out. @param {any} state @param {string} prefix @param {string} facet @returns {string[]} */
function valuesOf(state, prefix, facet) {
  if (!facet.startsWith("field:")) return state[`${prefix}${facet}`];
  const fields = state[`${prefix}fields`];
  return Object.hasOwn(fields, facet.slice(6)) ? fields[facet.slice(6)] : [];
}

/**
 * Ask for a value, leave it out, or neither.
 * @param {string} facet @param {string} value @param {"" | "not_" | null} how
 */
function choose(facet, value, how) {
  const state = read();
  /** @type {Record<string, any>} */
  const changes = { k: "" };
  for (const prefix of ["", "not_"]) {
    const others = valuesOf(state, prefix, facet).filter((one) => one !== value);
    const values = how === prefix ? [...others, value] : others;
    if (!facet.startsWith("field:")) changes[`${prefix}${facet}`] = values;
    else {
      const field = facet.slice(6);
      const { [field]: _before, ...rest } = state[`${prefix}fields`];
      changes[`${prefix}fields`] = values.length > 0 ? { ...rest, [field]: values } : rest;
      changes.facet = [...new Set([...state.facet, field])];
    }
  }
  go(changes);
}
