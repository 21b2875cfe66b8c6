// The keys j and k: from one entry of a list to the next.

import { bindKeys } from "./keys.js";

/**
 * Let j and k move the focus over what a selector finds in a view.
 * @param {HTMLElement} view
 * @param {string} selector of things that can have the focus
 * @param {string} what an entry is called
 * @returns {() => void} ends it
 */
export function moveOver(view, selector, what) {
  /** @param {number} step */
  function move(step) {
    const all = /** @type {HTMLElement[]} */ ([...view.querySelectorAll(selector)]);
    const now = all.findIndex((one) => one === document.activeElement || one.closest("li")?.contains(document.activeElement));
    const next = all[now < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(now + step, 0), all.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }
  return bindKeys([
    { keys: ["j"], what: `Next ${what}`, run: () => move(1) },
    { keys: ["k"], what: `Previous ${what}`, run: () => move(-1) },
  ]);
}
