// The filters that hold, each with a button that takes it away.

import { clear, el } from "./dom.js";
import { visible } from "./log_text.js";
import { go } from "./state.js";

const NONE = { service: [], level: [], topic: [], family: [], template: [], not: [], fields: {}, k: "" };

/** @returns {{node: HTMLElement, update: (state: any) => void}} */
export function filterChips() {
  const node = el("ul", { class: "row chips", "aria-label": "Filters" });
  return {
    node,
    update(state) {
      const chips = ["service", "level", "topic"].flatMap((name) => state[name].map((/** @type {string} */ value) => chip(name, value || "(none)", { [name]: state[name].filter((/** @type {string} */ one) => one !== value) })));
      for (const name of ["family", "template"]) {
        chips.push(...state[name].map((/** @type {string} */ value) => chip(name, value.slice(0, 8), { [name]: state[name].filter((/** @type {string} */ one) => one !== value) })));
      }
      for (const [name, values] of Object.entries(/** @type {Record<string, string[]>} */ (state.fields))) {
        const { [name]: _gone, ...others } = state.fields;
        for (const value of values) {
          const left = values.filter((one) => one !== value);
          chips.push(chip(name, value || "(without it)", { fields: left.length > 0 ? { ...others, [name]: left } : others }));
        }
      }
      if (state.not.length > 0) chips.push(chip("hidden", state.not.length === 1 ? "1 family" : `${state.not.length} families`, { not: [] }));
      if (chips.length > 1) chips.push(el("li", {}, el("button", { type: "button", class: "small", onclick: () => go(NONE) }, "Clear all")));
      const hadFocus = node.contains(document.activeElement);
      clear(node, chips);
      if (hadFocus) node.querySelector("button")?.focus();
      node.hidden = chips.length === 0;
    },
  };
}

/** @param {string} name @param {string} value @param {Record<string, any>} changes */
function chip(name, value, changes) {
  const remove = el("button", { type: "button", "aria-label": `Remove ${name} ${value.slice(0, 80)}`, onclick: () => go({ ...changes, k: "" }) }, "×");
  return el("li", { class: "chip" }, el("span", { class: "quiet" }, el("bdi", {}, visible(name.slice(0, 60)))), el("bdi", {}, visible(value.slice(0, 60))), remove);
}
