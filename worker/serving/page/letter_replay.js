// The dialog before a replay, and what came of it, in words.

import { clear, el } from "./dom.js";
import { number, plural } from "./format.js";
import { visible } from "./log_text.js";

const MOST_UNRESOLVED = 20;

/**
 * Ask whether so many letters shall be replayed.
 * @param {number} letters
 * @returns {Promise<boolean>}
 */
export function confirmReplay(letters) {
  return new Promise((resolve) => {
    const cancel = el("button", { type: "submit", value: "cancel" }, "Cancel");
    const dialog = el(
      "dialog",
      { class: "dialog", "aria-labelledby": "replay-title", onclose: closed },
      el("h2", { id: "replay-title" }, `Replay ${plural(letters, "dead letter")}?`),
      el("p", {}, "Their records are indexed again, with the settings of now. What is indexed already is not written twice."),
      el("p", {}, "If the cause is still there, they stay dead letters, and nothing changes."),
      el("form", { method: "dialog" }, el("div", { class: "row buttons" }, cancel, el("button", { type: "submit", class: "primary", value: "replay" }, `Replay ${number(letters)}`))),
    );

    function closed() {
      dialog.remove();
      resolve(dialog.returnValue === "replay");
    }

    document.body.append(dialog);
    dialog.showModal();
    cancel.focus();
  });
}

/**
 * Say what a replay did.
 * @param {{replayed: number, partly: number, already: number, left: number, lines: number, unresolved: {id: string, reason: string}[]}} sum
 * @param {() => void} onclose
 * @returns {HTMLElement}
 */
export function resultOf({ replayed, partly, already, left, lines, unresolved }, onclose) {
  const items = unresolved.slice(0, MOST_UNRESOLVED).map((one) => el("li", {}, el("code", {}, one.id), " ", el("bdi", {}, visible(one.reason))));
  const rest = unresolved.length - items.length;
  const node = el("div", { class: ["result", left > 0 ? "warn" : "ok"] });
  return clear(
    node,
    el("p", {}, el("strong", {}, sentence(replayed, left)), ` ${plural(lines, "line")} stored.`, already > 0 ? ` ${number(already)} were in the index already.` : "", partly > 0 ? ` Of ${plural(partly, "letter")} only a part could be stored.` : ""),
    items.length > 0 ? [el("p", {}, "Why some are left:"), el("ul", { class: "plain-list" }, items, rest > 0 ? el("li", {}, `and ${number(rest)} more`) : null)] : null,
    el("button", { type: "button", class: "small", onclick: onclose }, "Close"),
  );
}

/** @param {number} replayed @param {number} left */
function sentence(replayed, left) {
  if (replayed === 0 && left === 0) return "Nothing was replayed: their lines were in the index already.";
  if (left === 0) return `${plural(replayed, "letter")} replayed.`;
  return replayed === 0 ? `None could be replayed: ${plural(left, "letter")} left.` : `${plural(replayed, "letter")} replayed, ${number(left)} left.`;
}
