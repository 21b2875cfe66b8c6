// What can be done with a hit: more of this, not this, only this family, copies, the link to the very line.

import { copy, curlCommand, shareLink, vectailCommand } from "./commands.js";
import { el } from "./dom.js";
import { href, go } from "./state.js";
import { closesOutside } from "./range.js";
import { placeOf } from "./search_request.js";

const MOST_ASKED = 1_000;

/**
 * @param {import("./hit.js").Hit} hit
 * @param {any} line
 * @param {import("./hit_detail.js").Context} context
 * @param {HTMLElement} asJson what shows the line as JSON
 * @returns {HTMLElement}
 */
export function actionsOf(hit, line, context, asJson) {
  const { state } = context;
  const isAlone = context.body === null;
  const alike = questionLike(hit);
  const excluded = { not_family: [...new Set([...state.not_family, hit.family])], family: state.family.filter((one) => one !== hit.family), k: "" };
  return el(
    "div",
    { class: "row actions", role: "group", "aria-label": "What to do with this line" },
    alike !== "" && el("a", { class: "button small", href: href({ q: alike, mode: "", line: "", family: [], template: [], k: "" }), title: "Search for lines that mean the same" }, "More of this"),
    hit.family && !isAlone && el("button", { type: "button", class: "small", title: "Leave this family out: of hits, counts, export and live lines", onclick: () => go(excluded) }, "Not this"),
    hit.family && el("a", { class: "button small", href: href({ q: "", mode: "", line: "", family: [hit.family], template: [], k: "" }), title: "The newest lines of this family, and nothing else" }, "Only this family"),
    !isAlone && el("a", { class: "button small", href: href({ line: placeOf(line) }) }, "Open the line"),
    asJson,
    copies(line, context),
  );
}

/**
 * The question that finds lines which mean the same: without what the masks took out, since an id in it would find its own lines only.
 * @param {import("./hit.js").Hit} hit
 */
function questionLike(hit) {
  const template = hit.templateText.replace(/<[\w.:-]{1,30}>/g, " ").replace(/\s+/g, " ").trim();
  return (template || (hit.text ?? "").trim()).slice(0, MOST_ASKED);
}

/** @param {any} line @param {import("./hit_detail.js").Context} context */
function copies(line, context) {
  const place = { topic: line.topic, partition: line.partition, offset: line.offset };
  const body = context.body ?? { around: { ...place, before: 5, after: 5 } };
  const link = shareLink({ line: placeOf(line), k: "" });
  const choices = /** @type {[string, string][]} */ ([
    ["Link to this line", link],
    ["Text of the line", line.text ?? ""],
    ["Line as JSON", JSON.stringify(line, null, 2)],
    ["This search as curl", curlCommand("/api/search", body)],
    ["This search as vectail command", vectailCommand(body)],
    ["Neighbours as vectail command", vectailCommand({ around: { ...place, before: 5, after: 5 } })],
  ]);
  const menu = el("details", { class: "menu" }, el("summary", { class: "button small" }, "Copy"));
  const take = async (/** @type {string} */ name, /** @type {string} */ text) => {
    menu.open = false;
    menu.querySelector("summary").focus();
    context.say((await copy(text)) ? `Copied: ${name}.` : "The browser does not let this page copy.");
  };
  menu.append(el("ul", { class: "menu-list" }, choices.map(([name, text]) => el("li", {}, el("button", { type: "button", onclick: () => take(name, text) }, name)))));
  closesOutside(menu);
  return menu;
}
