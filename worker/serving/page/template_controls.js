// What can be chosen on the Templates tab: which list, which time, compared with what, which words.

import { filterChips } from "./chips.js";
import { filterButton } from "./filter_button.js";
import { filterInputs } from "./filter_inputs.js";
import { clear, el } from "./dom.js";
import { localInput, number } from "./format.js";
import { rangePicker } from "./range.js";
import { go } from "./state.js";
import { timeFrom, zoneName } from "./zone.js";
import { AGAINST, shownList } from "./template_windows.js";

const TYPING_MS = 350;
/** The lists, by their name in the address. @type {[string, string, string][]} */
const LISTS = [
  ["changed", "Changed", "Families that are new, rise, fall or stopped coming, the most severe first"],
  ["new", "New", "Families that came and were not there before"],
  ["up", "Rising", "Families that come clearly more often than before"],
  ["down", "Falling", "Families that come clearly less often than before"],
  ["gone", "Gone", "Families that were there before and stopped coming"],
  ["frequent", "Most frequent", "Families with the most lines"],
];

/**
 * @param {() => void} again asks again
 * @returns {{node: HTMLElement, update: (state: import("./state.js").State) => void, showNumbers: (changes: any[], most: number) => void,
 *   showRange: (range: import("./range.js").Range) => void, focus: () => void}}
 */
export function templateControls(again) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  /** @type {any} */
  let now = {};
  const words = el("input", { type: "search", id: "template-words", placeholder: "words, such as: timed out", autocomplete: "off", spellcheck: "false", oninput: type });
  const mode = el("select", { "aria-label": "How the words are meant", onchange: () => go({ mode: mode.value }) }, el("option", { value: "words" }, "by words"), el("option", { value: "dense" }, "by meaning"));
  const form = el("form", { role: "search", "aria-label": "Templates", class: "row words", onsubmit: submit }, el("label", { for: "template-words" }, "Filter"), words, mode);
  const buttons = LISTS.map(([show, text, title]) => el("button", { type: "button", "data-show": show, title, onclick: () => go({ show, k: "" }) }, text));
  const range = rangePicker((changes) => go(changes));
  const against = el("select", { id: "template-against", onchange: chooseAgainst }, AGAINST.map(([value, text]) => el("option", { value }, text)));
  const from = el("input", { type: "datetime-local", step: 1, "aria-label": "Compare with the time from", onchange: chooseOther });
  const until = el("input", { type: "datetime-local", step: 1, "aria-label": "Compare with the time until", onchange: chooseOther });
  const other = el("span", { class: "row", hidden: true }, from, "to", until, el("span", { class: "quiet" }, zoneName()));
  const comparison = el("div", { class: "row", hidden: true }, el("label", { for: "template-against" }, "compared with"), against, other);
  const filters = filterInputs((changes) => go({ ...changes, k: "" }));
  const chips = filterChips();
  const node = el("div", { class: "controls card" });
  const narrowing = filterButton(node);
  const times = el("div", { class: "row" }, range.node, comparison, el("button", { type: "button", class: "small", onclick: again }, "Refresh"));
  for (const one of [mode, times, filters.node, chips.node]) one.classList.add("narrowing");
  node.append(el("div", { class: "row" }, el("div", { class: "segments", role: "group", "aria-label": "Which templates" }, buttons), form, narrowing.node), times, filters.node, chips.node);

  function type() {
    clearTimeout(typing);
    typing = setTimeout(() => go({ q: words.value.trim(), k: "" }, { replace: true }), TYPING_MS);
  }

  /** @param {Event} event */
  function submit(event) {
    event.preventDefault();
    clearTimeout(typing);
    go({ q: words.value.trim(), k: "" });
  }

  function chooseAgainst() {
    go({ against: against.value, ...(against.value === "other" ? {} : { before: "", before_until: "" }) });
  }

  function chooseOther() {
    if (from.value && until.value) go({ before: String(timeFrom(from.value)), before_until: String(timeFrom(until.value)) });
  }

  return {
    node,
    focus: () => words.focus(),
    showRange: (found) => range.update(now, found),
    update(state) {
      now = state;
      const show = shownList(state);
      if (document.activeElement !== words) words.value = state.q;
      mode.value = state.mode === "dense" ? "dense" : "words";
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.show === show));
      range.update(state);
      comparison.hidden = show === "frequent";
      against.value = state.against ?? "";
      other.hidden = state.against !== "other";
      if (state.before) from.value = localInput(Number(state.before));
      if (state.before_until) until.value = localInput(Number(state.before_until));
      filters.update(state);
      chips.update(state);
      narrowing.update(state);
      if (show === "frequent") buttons.forEach((button, place) => (button.textContent = LISTS[place][1]));
    },
    showNumbers(changes, most) {
      buttons.forEach((button, place) => {
        const [show, text] = LISTS[place];
        const found = changes.filter((one) => one.change === show).length;
        clear(button, text, show === "changed" || show === "frequent" ? null : el("span", { class: "count" }, found >= most ? `${number(most)}+` : number(found)));
      });
    },
  };
}
