// Keys that act on the page. None acts while somebody types, nor together with Ctrl, Alt or Meta: those belong to the browser.

import { el } from "./dom.js";

/** @typedef {{keys: string[], what: string, run?: (event: KeyboardEvent) => void}} Key a key without `run` is only listed: the browser has it */

/** @type {Set<Key[]>} */
const groups = new Set();

/**
 * Let keys act until the returned function is called. A later group wins over an earlier one.
 * @param {Key[]} group
 * @returns {() => void}
 */
export function bindKeys(group) {
  groups.add(group);
  return () => groups.delete(group);
}

/** Show all keys that act now, in a dialog. */
export function showKeys() {
  if (document.querySelector("dialog.keys")) return;
  const rows = [...groups].flat().map((key) => el("tr", {}, el("td", {}, key.keys.map((one) => [el("kbd", {}, named(one)), " "])), el("td", {}, key.what)));
  const dialog = el(
    "dialog",
    { class: "keys", "aria-labelledby": "keys-title", onclose: () => dialog.remove() },
    el("h2", { id: "keys-title" }, "Keys"),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Key"), el("th", { scope: "col" }, "What it does"))), el("tbody", {}, rows)),
    el("form", { method: "dialog" }, el("button", {}, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {string} key */
function named(key) {
  return { Escape: "Esc", ArrowDown: "↓", ArrowUp: "↑" }[key] ?? key;
}

/** @param {EventTarget | null} target */
function typesInto(target) {
  if (!(target instanceof Element)) return false;
  const field = target.closest("input, textarea, select, [contenteditable]");
  return field !== null && !(field instanceof HTMLInputElement && ["checkbox", "radio", "button", "submit", "range"].includes(field.type));
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (typesInto(event.target) || document.querySelector("dialog[open]")) return;
  const found = [...groups].reverse().flat().find((key) => key.keys.includes(event.key));
  if (!found?.run) return;
  event.preventDefault();
  found.run(event);
});
