// On a narrow screen one button shows and hides all that narrows a view down: whatever has the class "narrowing". A wide screen shows it always.

import { el } from "./dom.js";
import { FILTERS } from "./filters.js";

/**
 * @param {HTMLElement} view what holds the narrowing elements
 * @param {() => void} [opened] called when they are shown
 * @returns {{node: HTMLElement, update: (state: import("./state.js").State) => void}}
 */
export function filterButton(view, opened = () => {}) {
  const node = el("button", { type: "button", class: "filters-button", "aria-expanded": "false", onclick: toggle }, "Filters");

  function toggle() {
    const isOpen = view.classList.toggle("filters-open");
    node.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) opened();
  }

  return {
    node,
    update(state) {
      const active = FILTERS.reduce((sum, { name }) => sum + countOf(state[name]), state.since || state.until ? 1 : 0);
      node.textContent = active === 0 ? "Filters" : `Filters (${active})`;
    },
  };
}

/** How many values a filter is set to. @param {any} set a text, a list, or lists by name @returns {number} */
function countOf(set) {
  if (typeof set === "string") return set === "" ? 0 : 1;
  return Object.values(set).flat().length;
}
