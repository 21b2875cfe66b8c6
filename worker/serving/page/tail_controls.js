// What can be chosen on the Live tab: words or a meaning, levels, services, topics; pause.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";
import { filterChips } from "./chips.js";
import { go } from "./state.js";

const LEVELS = ["FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
const TYPING_MS = 500;
const MOST_NAMES = 100;

/**
 * @param {{pause: () => void, empty: () => void}} does
 * @returns {{node: HTMLElement, update: (state: import("./state.js").State) => void, showPaused: (isPaused: boolean) => void, focus: () => void}}
 */
export function tailControls({ pause, empty }) {
  /** @type {import("./state.js").State} */
  let state;
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
  const levels = LEVELS.map((level) => el("button", { type: "button", class: "small", "data-level": level, onclick: () => toggle("level", level) }, level));
  const service = nameInput("service", "Add a service");
  const topic = nameInput("topic", "Add a topic");
  const chips = filterChips();
  const node = el(
    "div",
    { class: "controls card" },
    el("div", { class: "row" }, pauseButton, el("button", { type: "button", onclick: empty }, "Clear"), form),
    el("div", { class: "row" }, el("div", { class: "row levels", role: "group", "aria-label": "Levels" }, levels), service, topic),
    chips.node,
  );

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

  /** @param {string} name @param {string} value */
  function toggle(name, value) {
    const now = state[name];
    go({ [name]: now.includes(value) ? now.filter((/** @type {string} */ one) => one !== value) : [...now, value] }, { replace: true });
  }

  /** @param {"service" | "topic"} name @param {string} label */
  function nameInput(name, label) {
    const id = `tail-${name}-names`;
    const names = el("datalist", { id });
    const input = el("input", { list: id, size: 14, "aria-label": label, placeholder: label, autocomplete: "off", spellcheck: "false", onfocus: fill, onchange: choose, onkeydown: enter });
    let isFilled = false;

    async function fill() {
      if (isFilled) return;
      isFilled = true;
      const answer = await ask("/api/counts", { by: [name], top: MOST_NAMES }).catch(() => null);
      isFilled = answer !== null;
      clear(names, (answer?.counts ?? []).filter((/** @type {any} */ one) => one[name]).map((/** @type {any} */ one) => el("option", { value: one[name] })));
    }

    function choose() {
      const value = input.value.trim();
      input.value = "";
      if (value !== "" && !state[name].includes(value)) toggle(name, value);
    }

    /** @param {KeyboardEvent} event */
    function enter(event) {
      if (event.key === "Enter") choose();
    }

    return el("span", {}, input, names);
  }

  return {
    node,
    focus: () => words.focus(),
    showPaused(isPaused) {
      pauseButton.textContent = isPaused ? "Go on" : "Pause";
    },
    update(changed) {
      state = changed;
      if (document.activeElement !== words) words.value = state.q;
      mode.value = state.mode === "dense" ? "dense" : "words";
      for (const button of levels) button.setAttribute("aria-pressed", String(state.level.includes(button.dataset.level)));
      chips.update(state);
    },
  };
}
