// What the Templates tab offers above its list: masks that would merge families that differ in one word, as TOML to paste.
//
// The worker has escaped what a log line could hide in it.

import { get } from "./api.js";
import { copy } from "./commands.js";
import { clear, el } from "./dom.js";
import { number, plural } from "./format.js";

const SAID_MS = 2_000;

/**
 * Ask for suggestions and show them in a node; it stays empty without any, and where they cannot be read now.
 * @param {HTMLElement} node
 * @param {string[]} topics those of the filters: of one topic the suggestions are its own
 * @param {AbortSignal} signal
 */
export async function showSuggestions(node, topics, signal) {
  let offered;
  try {
    offered = await get("/api/suggestions", topics.length === 1 ? { topic: topics[0] } : {}, { signal });
  } catch {
    return; // A list without suggestions is whole: they are no reason for an error.
  }
  if (signal.aborted || offered.families === 0) return;
  const copied = el("button", { type: "button", class: "small", onclick: copyToml }, "Copy");

  async function copyToml() {
    copied.textContent = (await copy(offered.toml)) ? "Copied" : "Select it and copy";
    setTimeout(() => (copied.textContent = "Copy"), SAID_MS);
  }

  const masks = plural(offered.suggestions.length, "mask");
  clear(
    node,
    el(
      "details",
      { class: "card" },
      el("summary", {}, el("strong", {}, `${number(offered.families)} families differ in one word: merge`)),
      el("p", {}, `Of the ${number(offered.lines)} most frequent, looked at by one line each. Paste what is right of these ${masks} into the settings file; lines that are stored keep their templates.`),
      el("pre", { tabindex: "0", "aria-label": "Suggested masks" }, offered.toml),
      copied,
    ),
  );
}
