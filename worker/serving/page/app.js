// The page's entry: the tabs, the colours, the keys of every view, and which view the address asks for. A view is loaded when it is
// first opened, so the first one is on the screen before the others have been fetched.

import { el } from "./dom.js";
import { bindKeys, showKeys } from "./keys.js";
import { explain } from "./explain.js";
import { onReach } from "./reach.js";
import { listen, read, tabHref, visit } from "./state.js";
import { hasChoice, switchZone, zoneName, zoneOffset } from "./zone.js";

/** @typedef {{update: (state: any) => void, close: () => void}} View */

/** @type {Record<string, {name: string, load: () => Promise<{open: (view: HTMLElement, state: any) => View}>}>} */
const TABS = {
  search: { name: "Search", load: () => import("./search.js") },
  templates: { name: "Templates", load: () => import("./templates.js") },
  live: { name: "Live", load: () => import("./tail.js") },
  lag: { name: "Lag", load: () => import("./lag.js") },
  letters: { name: "Dead letters", load: () => import("./dead_letters.js") },
  doctor: { name: "Doctor", load: () => import("./doctor.js") },
};

const main = /** @type {HTMLElement} */ (document.getElementById("view"));
const tabs = /** @type {HTMLElement} */ (document.getElementById("tabs"));
const tools = /** @type {HTMLElement} */ (document.getElementById("tools"));
/** @type {{tab: string, view: View} | null} */
let shown = null;
let turn = 0;

/** Show the view that the state asks for, or tell the one that is open what has changed. @param {any} state */
async function show(state) {
  const tab = Object.hasOwn(TABS, state.tab) ? state.tab : "search";
  document.querySelector(".unknown-tab")?.remove();
  if (tab !== state.tab) main.before(el("p", { class: "unknown-tab status", "data-kind": "warning", role: "status" }, `There is no tab “${state.tab.slice(0, 60)}”: this is ${TABS[tab].name}.`));
  document.title = `${state.q ? `${state.q} · ` : ""}${TABS[tab].name} · vectail`;
  drawTabs(tab);
  if (shown !== null && shown.tab === tab) {
    shown.view.update(state);
    return;
  }
  const mine = ++turn;
  if (shown) shown.view.close();
  shown = null;
  try {
    const { open } = await TABS[tab].load();
    if (mine !== turn) return;
    main.replaceChildren();
    shown = { tab, view: open(main, read()) };
  } catch (error) {
    if (mine !== turn) return;
    const { what, todo } = explain(error);
    main.replaceChildren(el("p", { class: "status", role: "status", "data-kind": "problem" }, el("strong", {}, what), " ", todo));
    throw error;
  }
}

/** @param {string} current */
function drawTabs(current) {
  for (const [tab, { name }] of Object.entries(TABS)) {
    const link = tabs.querySelector(`[data-tab="${tab}"]`) ?? addTab(tab, name);
    link.setAttribute("href", tabHref(tab));
    if (tab === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** @param {string} tab @param {string} name @returns {Element} */
function addTab(tab, name) {
  const link = el("a", { "data-tab": tab }, name);
  tabs.append(el("li", {}, link));
  return link;
}

/** Mark the Lag tab while answers lack what waits in Kafka. @param {boolean} isBehind */
function markLag(isBehind) {
  const link = tabs.querySelector('[data-tab="lag"]');
  if (link === null || link.hasAttribute("data-behind") === isBehind) return;
  link.toggleAttribute("data-behind", isBehind);
  link.replaceChildren(TABS.lag.name, ...(isBehind ? [el("span", { class: "visually-hidden" }, "(the index is behind)")] : []));
}

/** Follow links to states of this page without loading it again. @param {MouseEvent} event */
function follow(event) {
  const link = event.target instanceof Element ? event.target.closest("a[href^='?']") : null;
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.hasAttribute("target") || link.hasAttribute("download")) return;
  event.preventDefault();
  visit(/** @type {string} */ (link.getAttribute("href")));
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem("vectail.theme", chosen);
  } catch {
    // Storage may be forbidden: the choice holds until the page is closed.
  }
}

/** The zone of all times; a button where there is another one to choose. @type {HTMLElement} */
const zone = hasChoice() ? el("button", { type: "button", class: "small", onclick: changeZone }) : el("span", { class: "quiet small" });

function changeZone() {
  switchZone();
  showZone();
  shown?.view.close();
  shown = null;
  show(read());
}

function showZone() {
  zone.textContent = zoneOffset();
  zone.title = `Times are in ${zoneName()}`;
  if (hasChoice()) zone.setAttribute("aria-label", `Times are in ${zoneName()}; switch`);
}

showZone();
bindKeys([
  { keys: ["?"], what: "Show these keys", run: showKeys },
  { keys: ["t"], what: "Light or dark", run: switchTheme },
]);
tools.append(
  zone,
  el("button", { type: "button", class: "icon", "aria-label": "Light or dark", title: "Light or dark (t)", onclick: switchTheme }, "◐"),
  el("button", { type: "button", class: "icon", "aria-label": "Keys", title: "Keys (?)", onclick: showKeys }, "?"),
);
document.addEventListener("click", follow);
listen(show);
onReach(markLag);
show(read());
import("./sign_in.js").then((form) => form.mountSession(tools));
