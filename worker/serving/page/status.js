// The line of a view that says what it is doing, why it is empty, or what is wrong: read out politely by a screen reader.

import { clear, el } from "./dom.js";
import { explain } from "./explain.js";

/**
 * @typedef {{node: HTMLElement, busy: (text: string) => void, say: (...children: any[]) => void,
 *   problem: (error: any, retry?: () => void, note?: string) => void, close: () => void}} StatusLine
 */

/**
 * Make the line. `busy` says what is under way, `say` what was found (children as for `el`), `problem` explains an error and, where
 * asking again may help, counts down and calls `retry`. Each replaces what stood there.
 * @returns {StatusLine}
 */
export function statusLine() {
  const node = el("p", { class: "status", role: "status" });
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let countdown;

  /** @param {string} kind @param {any[]} children */
  function show(kind, children) {
    clearInterval(countdown);
    node.dataset.kind = kind;
    clear(node, children);
  }

  /** @param {any} error @param {() => void} [retry] @param {string} [note] what holds meanwhile */
  function problem(error, retry, note = "") {
    const { what, todo, retryS } = explain(error);
    const left = el("span", { "aria-hidden": "true" });
    const again = retry && el("button", { type: "button", class: "small", onclick: () => (clearInterval(countdown), retry()) }, "Try again now");
    show("problem", [el("strong", {}, what), " ", todo, " ", note && `${note} `, left, again && " ", again]);
    if (!retry || retryS === null) return;
    let seconds = Math.max(Math.ceil(retryS), 1);
    const tick = () => {
      left.textContent = `Asking again in ${seconds} s. `;
      if (seconds-- > 0) return;
      clearInterval(countdown);
      retry();
    };
    tick();
    countdown = setInterval(tick, 1000);
  }

  return {
    node,
    busy: (text) => show("busy", [el("span", { class: "spinner", "aria-hidden": "true" }), text]),
    say: (...children) => show("said", children),
    problem,
    close: () => clearInterval(countdown),
  };
}
