// The question: one box for words, a sentence or an id, and how it is meant.

import { el } from "./dom.js";

const MODES = /** @type {[string, string][]} */ ([["", "Meaning and words"], ["dense", "Meaning"], ["words", "Words"]]);

/**
 * @param {(changes: {q: string, mode: string}) => void} choose
 * @param {() => void} toHits called when the arrow key leaves the box downwards
 * @returns {{node: HTMLElement, box: HTMLInputElement, update: (state: any) => void}}
 */
export function searchBar(choose, toHits) {
  const box = el("input", { type: "search", id: "question", name: "q", autocomplete: "off", spellcheck: "false", maxlength: 4096, enterkeyhint: "search", placeholder: "What happened? A question, words, or an id", "aria-label": "Search the logs" });
  const mode = el("select", { class: "narrowing", "aria-label": "Search by", onchange: () => box.value.trim() && submit() }, MODES.map(([value, text]) => el("option", { value }, text)));
  const node = el("form", { class: "search-bar", role: "search", onsubmit: submit }, el("div", { class: "box" }, box, el("kbd", { "aria-hidden": "true" }, "/")), mode, el("button", { class: "primary" }, "Search"));

  /** @param {Event} [event] */
  function submit(event) {
    event?.preventDefault();
    choose({ q: box.value.trim(), mode: mode.value });
  }

  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") box.blur();
    else if (event.key === "ArrowDown") toHits();
    else return;
    event.preventDefault();
  });
  return {
    node, box,
    update(state) {
      if (document.activeElement !== box || box.value.trim() !== state.q) box.value = state.q;
      mode.value = MODES.some(([value]) => value === state.mode) ? state.mode : "";
    },
  };
}
