// What can be chosen on the Live tab: words or a meaning, and the filters; pause.

import { el } from "./dom.js";
import { filterChips } from "./chips.js";
import { filterButton } from "./filter_button.js";
import { filterInputs } from "./filter_inputs.js";
import { go } from "./state.js";
import { wrapButton } from "./wrap.js";

const TYPING_MS = 500;

/**
 * @param {{pause: () => void, empty: () => void}} does
 * @returns {{node: HTMLElement, update: (state: import("./state.js").State) => void, showPaused: (isPaused: boolean) => void, focus: () => void}}
 */
export function tailControls({ pause, empty }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  const words = el("input", { type: "search", id: "tail-words", placeholder: "all lines", autocomplete: "off", spellcheck: "false", oninput: type });
  const mode = el(
    "select",
    { "aria-label": "How the words are meant", onchange: () => go({ mode: mode.value }, { replace: true }) },
    el("option", { value: "words" }, "by words"),
    el("option", { value: "dense" }, "by meaning"),
  );
  const form = el("form", { role: "search", "aria-label": "Live lines", class: "row words", onsubmit: submit }, el("label", { for: "tail-words" }, "Filter"), words, mode);
  const pauseButton = el("button", { type: "button", class: "primary", onclick: pause }, "Pause");
  const filters = filterInputs((changes) => go(changes, { replace: true }));
  const chips = filterChips();
  const node = el("div", { class: "controls card" });
  const narrowing = filterButton(node);
  for (const one of [mode, filters.node, chips.node]) one.classList.add("narrowing");
  const wrap = wrapButton();
  wrap.classList.add("narrowing");
  node.append(el("div", { class: "row" }, pauseButton, el("button", { type: "button", class: "narrowing", onclick: empty }, "Clear"), wrap, form, narrowing.node), filters.node, chips.node);

  function type() {
    clearTimeout(typing);
    typing = setTimeout(() => go({ q: words.value.trim() }, { replace: true }), TYPING_MS);
  }

  /** @param {Event} event */
  function submit(event) {
    event.preventDefault();
    clearTimeout(typing);
    go({ q: words.value.trim() });
  }

  return {
    node,
    focus: () => words.focus(),
    showPaused(isPaused) {
      pauseButton.textContent = isPaused ? "Go on" : "Pause";
    },
    update(state) {
      if (document.activeElement !== words) words.value = state.q;
      mode.value = state.mode === "dense" ? "dense" : "words";
      filters.update(state);
      chips.update(state);
      narrowing.update(state);
    },
  };
}
