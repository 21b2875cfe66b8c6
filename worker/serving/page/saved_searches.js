// Searches that this browser keeps: those that somebody saved under a name, and the last ones. A shared one is its link.

import { clear, el } from "./dom.js";
import { FILTERS } from "./filters.js";
import { visible } from "./log_text.js";
import { closesOutside } from "./range.js";
import { href } from "./state.js";

/** @typedef {{name: string, address: string}} Kept */

const SAVED = "vectail.saved";
const RECENT = "vectail.recent";
const MOST_RECENT = 20;

/**
 * Make the menu.
 * @returns {{node: HTMLElement, update: (state: import("./state.js").State) => void}} `update`: this search was answered
 */
export function savedSearches() {
  let now = { name: "", address: "?" };
  const name = el("input", { id: "saved-name", maxlength: 80, required: true, autocomplete: "off" });
  const form = el("form", { class: "row", onsubmit: save }, el("label", { for: "saved-name" }, "Save this search as"), name, el("button", { class: "primary small" }, "Save"));
  const saved = el("div", {});
  const recent = el("div", {});
  const node = el("details", { class: "menu saved-searches", ontoggle: () => node.open && draw() }, el("summary", { class: "button" }, "Saved"), el("div", { class: "menu-list" }, form, saved, recent));
  closesOutside(node);

  /** @param {Event} event */
  function save(event) {
    event.preventDefault();
    const given = name.value.trim();
    keep(SAVED, [{ ...now, name: given }, ...kept(SAVED).filter((one) => one.name !== given)]);
    draw();
  }

  function draw() {
    name.value = now.name;
    const [all, last] = [kept(SAVED), kept(RECENT)];
    clear(saved, all.length > 0 && [el("h3", {}, "Saved"), el("ul", { "aria-label": "Saved searches" }, all.map((one) => el("li", { class: "row" }, linkTo(one), deleteButton(one))))]);
    clear(
      recent,
      last.length > 0 && [
        el("div", { class: "row" }, el("h3", { class: "grow" }, "Recent"), el("button", { type: "button", class: "small", onclick: () => (keep(RECENT, []), draw()) }, "Clear")),
        el("ul", { "aria-label": "Recent searches" }, last.map((one) => el("li", {}, linkTo(one)))),
      ],
    );
  }

  /** @param {Kept} one */
  function linkTo({ name: text, address }) {
    return el("a", { class: "grow", href: address, onclick: () => (node.open = false) }, visible(text));
  }

  /** @param {Kept} one */
  function deleteButton({ name: text }) {
    const drop = () => {
      keep(SAVED, kept(SAVED).filter((one) => one.name !== text));
      draw();
      name.focus();
    };
    return el("button", { type: "button", class: "icon", "aria-label": `Delete ${text}`, title: "Delete", onclick: drop }, "×");
  }

  return {
    node,
    update(state) {
      now = { name: nameOf(state), address: href({ k: "", line: "" }, state) };
      if (now.name !== "") keep(RECENT, [now, ...kept(RECENT).filter((one) => one.address !== now.address)].slice(0, MOST_RECENT));
      if (node.open) draw();
    },
  };
}

/** What a search asks for: the question, and the values of its filters; "" if it asks for nothing. @param {import("./state.js").State} state */
function nameOf(state) {
  const filters = FILTERS.flatMap(({ name, excludes }) => valuesOf(state[name]).map((value) => (excludes ? `not ${value}` : value)));
  return [state.q.trim(), ...filters].filter(Boolean).join(" · ").slice(0, 80);
}

/** @param {any} set what a filter is set to @returns {string[]} */
function valuesOf(set) {
  if (typeof set === "string") return set === "" ? [] : [set];
  if (Array.isArray(set)) return set;
  return Object.entries(set).flatMap(([field, values]) => values.map((/** @type {string} */ value) => `${field}=${value}`));
}

/** @param {string} key @returns {Kept[]} */
function kept(key) {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "[]");
    return found.filter((/** @type {any} */ one) => typeof one.name === "string" && String(one.address).startsWith("?"));
  } catch {
    return []; // Storage may be forbidden, or hold what another version wrote.
  }
}

/** @param {string} key @param {Kept[]} searches */
function keep(key, searches) {
  try {
    localStorage.setItem(key, JSON.stringify(searches));
  } catch {
    // Storage may be forbidden: nothing is kept then.
  }
}
