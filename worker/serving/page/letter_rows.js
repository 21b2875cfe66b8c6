// One dead letter in the list: why, where, when, and how its record begins. All of it is text from outside.

import { moment } from "./card.js";
import { el } from "./dom.js";
import { bytes, plural, relative, time } from "./format.js";
import { logText, visible } from "./log_text.js";
import { tabHref } from "./state.js";

/**
 * @param {any} letter as /api/dead-letters gives it
 * @param {boolean} isChosen
 * @param {(isOn: boolean) => void} onchoose
 * @returns {{node: HTMLElement, checkbox: HTMLInputElement | null}} without a checkbox it cannot be replayed
 */
export function letterRow(letter, isChosen, onchoose) {
  const canReplay = letter.replayable && !letter.replayed;
  const checkbox = canReplay
    ? el("input", { type: "checkbox", "aria-label": `Select dead letter ${letter.id}`, checked: isChosen, onchange: () => onchoose(checkbox.checked) })
    : null;
  const hasPlace = letter.offset !== null && letter.offset !== undefined;
  const place = `${letter.topic}/${letter.partition}@${letter.offset}`;
  const node = el(
    "li",
    { class: ["letter", letter.replayed && "done"] },
    el("span", { class: "choice" }, checkbox),
    el(
      "div",
      { class: "about" },
      el("p", { class: "row" }, el("strong", {}, el("bdi", {}, visible(letter.reason))), stateOf(letter)),
      el(
        "p",
        { class: "row quiet" },
        moment(letter.time_ms, `${time(letter.time_ms)} (${relative(letter.time_ms)})`),
        el("span", {}, "record ", hasPlace ? el("a", { href: tabHref("search", { line: place, q: "" }), title: "Show the lines around it" }, visible(place)) : [...visible(letter.topic), " (never a record)"]),
        el("span", {}, `refused at ${letter.stage}`),
        letter.pieces ? el("span", {}, `${plural(Array.isArray(letter.pieces) ? letter.pieces.length : letter.pieces, "piece")} of it`) : null,
        el("span", {}, bytes(letter.size_bytes)),
        letter.setting ? el("span", {}, "decided by ", el("code", {}, letter.setting)) : null,
        el("code", {}, `vectail dlq show ${letter.id}`),
      ),
      letter.way_back ? el("p", { class: "quiet" }, visible(letter.way_back)) : null,
      letter.preview ? el("div", { class: "preview" }, logText(letter.preview)) : el("p", { class: "quiet" }, "It has no value."),
    ),
  );
  return { node, checkbox };
}

/** @param {any} letter */
function stateOf(letter) {
  if (letter.replayed) return el("span", { class: "chip ok" }, "replayed");
  if (letter.partly_replayed) return el("span", { class: "chip" }, "replayed in part");
  if (!letter.replayable) return el("span", { class: "quiet" }, "cannot be replayed: ", visible(letter.obstacle || "its record is not whole"));
  return null;
}
