// What lines are filtered by beside words: levels that are pressed, and a service, topic or field that is added. The chips take it away again.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";

const LEVELS = ["FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
const MOST_NAMES = 100;

/**
 * @param {(changes: Record<string, any>) => void} choose called with what the address shall say
 * @returns {{node: HTMLElement, update: (state: import("./state.js").State) => void}}
 */
export function filterInputs(choose) {
  /** @type {import("./state.js").State} */
  let state;
  const levels = LEVELS.map((level) => el("button", { type: "button", class: "small", "data-level": level, onclick: () => toggle("level", level) }, level));
  const node = el(
    "div",
    { class: "row" },
    el("div", { class: "row levels", role: "group", "aria-label": "Levels" }, levels),
    nameInput("service", "Add a service", (value) => state.service.includes(value) || toggle("service", value)),
    nameInput("topic", "Add a topic", (value) => state.topic.includes(value) || toggle("topic", value)),
    nameInput("field", "Add a field=value", addField),
  );

  /** @param {string} name @param {string} value */
  function toggle(name, value) {
    const now = state[name];
    choose({ [name]: now.includes(value) ? now.filter((/** @type {string} */ one) => one !== value) : [...now, value] });
  }

  /** Filter by a field, cut at the first equals sign as on the command line. @param {string} pair */
  function addField(pair) {
    const cut = pair.indexOf("=");
    const [name, value] = [pair.slice(0, cut), pair.slice(cut + 1)];
    const values = Object.hasOwn(state.fields, name) ? state.fields[name] : [];
    choose({ fields: { ...state.fields, [name]: [...new Set([...values, value])] } });
  }

  /** @param {string} name what its values are counted by @param {string} label @param {(value: string) => void} add */
  function nameInput(name, label, add) {
    const id = `filter-${name}-names`;
    const names = el("datalist", { id });
    const pattern = name === "field" ? "[^=]+=.+" : null;
    const input = el("input", { list: id, size: 14, pattern, title: label, "aria-label": label, placeholder: label, autocomplete: "off", spellcheck: "false", onfocus: fill, onchange: () => input.checkValidity() && take(), onkeydown: enter });
    let isFilled = false;

    async function fill() {
      if (isFilled) return;
      isFilled = true;
      const answer = await ask("/api/counts", { by: [name], top: MOST_NAMES }).catch(() => null);
      isFilled = answer !== null;
      const ending = name === "field" ? "=" : "";
      clear(names, (answer?.counts ?? []).filter((/** @type {any} */ one) => one[name]).map((/** @type {any} */ one) => el("option", { value: one[name] + ending })));
    }

    function take() {
      const value = input.value.trim();
      input.value = "";
      if (value !== "") add(value);
    }

    /** @param {KeyboardEvent} event */
    function enter(event) {
      if (event.key === "Enter" && input.reportValidity()) take();
    }

    return el("span", {}, input, names);
  }

  return {
    node,
    update(changed) {
      state = changed;
      for (const button of levels) button.setAttribute("aria-pressed", String(state.level.includes(button.dataset.level)));
    },
  };
}
