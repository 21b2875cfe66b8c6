// Which time is asked for. `since` in the address is a span before now ("15m", "1h"), a number of milliseconds since 1970, "all", or ""
// (the page chooses); `until` is a number of milliseconds or "" (now).

import { clear, el } from "./dom.js";
import { duration, localInput, shortTime, time, zone } from "./format.js";

/** @typedef {{since_ms: number | null, until_ms: number | null, label: string, automatic: boolean}} Range */

const UNIT_MS = /** @type {Record<string, number>} */ ({ s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 });
const NAMES = /** @type {Record<string, string>} */ ({ s: "second", m: "minute", h: "hour", d: "day", w: "week" });
export const PRESETS = /** @type {[string, string, string][]} */ ([
  ["15m", "15 min", "Last 15 minutes"],
  ["1h", "1 h", "Last hour"],
  ["6h", "6 h", "Last 6 hours"],
  ["24h", "24 h", "Last 24 hours"],
  ["7d", "7 d", "Last 7 days"],
  ["all", "All", "All time"],
]);

/**
 * Return the window that a state asks for; `label` fits into "… in the last hour". Without `since` and `until` it is the last hour, and
 * `automatic`: whoever finds nothing in it may take all time.
 * @param {{since?: string, until?: string}} state
 * @param {number} [now]
 * @returns {Range}
 */
export function rangeOf({ since = "", until = "" }, now = Date.now()) {
  const automatic = since === "" && until === "";
  const until_ms = moment(until, now);
  const span = /^(\d{1,6})([smhdw])$/.exec(automatic ? "1h" : since);
  if (span) {
    const [, count, unit] = span;
    const since_ms = (until_ms ?? now) - Number(count) * UNIT_MS[unit];
    if (until_ms === null) return { since_ms, until_ms, label: `in the last ${count === "1" ? NAMES[unit] : `${count} ${NAMES[unit]}s`}`, automatic };
    return { since_ms, until_ms, label: between(since_ms, until_ms), automatic };
  }
  const since_ms = moment(since, now);
  return { since_ms, until_ms, label: between(since_ms, until_ms), automatic };
}

/** All time, where the automatic window held nothing. @returns {Range} */
export function allTime() {
  return { since_ms: null, until_ms: null, label: "in all time", automatic: true };
}

/** The part of `filters` that a window is. @param {Range} range */
export function timeFilters({ since_ms, until_ms }) {
  return { ...(since_ms === null ? {} : { since_ms }), ...(until_ms === null ? {} : { until_ms }) };
}

/** @param {number | null} since_ms @param {number | null} until_ms */
function between(since_ms, until_ms) {
  if (since_ms === null && until_ms === null) return "in all time";
  if (since_ms === null) return `before ${time(/** @type {number} */ (until_ms))}`;
  if (until_ms === null) return `since ${time(since_ms)}`;
  const span = until_ms - since_ms;
  const end = time(until_ms).slice(0, 10) === time(since_ms).slice(0, 10) ? time(until_ms).slice(11) : time(until_ms);
  return span <= 0 ? "in no time at all (it ends before it begins)" : `from ${time(since_ms)} to ${span < 2_000 ? shortTime(until_ms, 1) : end}`;
}

/** @param {string} text @param {number} now @returns {number | null} */
function moment(text, now) {
  if (/^-?\d{1,16}$/.test(text)) return Number(text);
  const span = /^(\d{1,6})([smhdw])$/.exec(text);
  return span ? now - Number(span[1]) * UNIT_MS[span[2]] : null;
}

/**
 * Make the control: presets, and from … to in this browser's zone.
 * @param {(changes: {since: string, until: string}) => void} choose called with what the address shall say
 * @returns {{node: HTMLElement, update: (state: {since: string, until: string}, range?: Range) => void}}
 */
export function rangePicker(choose) {
  const buttons = PRESETS.map(([since, text, name]) =>
    el("button", { type: "button", "data-since": since, "aria-label": name, title: name, onclick: () => choose({ since, until: "" }) }, text),
  );
  const from = el("input", { type: "datetime-local", step: 1, id: "range-from" });
  const to = el("input", { type: "datetime-local", step: 1, id: "range-to" });
  const fault = el("p", { class: "bad", role: "alert" });
  const label = el("span", {}, "Custom");
  const panel = el(
    "form",
    { class: "range-panel", onsubmit: apply },
    el("div", { class: "row" }, el("label", { for: "range-from" }, "From"), from),
    el("div", { class: "row" }, el("label", { for: "range-to" }, "To"), to),
    el("p", { class: "quiet" }, `Times are in ${zone()}.`),
    fault,
    el("button", { class: "primary" }, "Apply"),
  );
  const custom = el("details", { class: "menu range-custom" }, el("summary", { class: "button" }, label), panel);
  const node = el("div", { class: "range", role: "group", "aria-label": "Time range" }, el("div", { class: "segments" }, buttons), custom);
  closesOutside(custom);

  /** @param {Event} event */
  function apply(event) {
    event.preventDefault();
    const since = from.value ? new Date(from.value).getTime() : null;
    const until = to.value ? new Date(to.value).getTime() : null;
    if (since !== null && until !== null && since >= until) {
      fault.textContent = "It ends before it begins.";
      return;
    }
    fault.textContent = "";
    custom.open = false;
    choose({ since: since === null ? "all" : String(since), until: until === null ? "" : String(until) });
  }

  return {
    node,
    update(state, range = rangeOf(state)) {
      const preset = state.until === "" ? state.since || (range.since_ms === null ? "all" : "1h") : "";
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.since === preset));
      const isPreset = PRESETS.some(([since]) => since === preset);
      custom.classList.toggle("chosen", !isPreset);
      clear(label, isPreset ? "Custom" : named(range));
      from.value = range.since_ms === null ? "" : localInput(range.since_ms);
      to.value = range.until_ms === null ? "" : localInput(range.until_ms);
    },
  };
}

/** @param {Range} range */
function named({ since_ms, until_ms, label }) {
  if (since_ms === null || until_ms === null) return label;
  return `${shortTime(since_ms, Date.now() - since_ms)} + ${duration((until_ms - since_ms) / 1000)}`;
}

/**
 * Close a `<details>` that serves as a menu on Esc, and when something outside is clicked.
 * @param {HTMLDetailsElement} menu
 */
export function closesOutside(menu) {
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
    event.stopPropagation();
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget instanceof Node && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    const outside = (/** @type {Event} */ event) => {
      if (menu.open && menu.isConnected && menu.contains(/** @type {Node} */ (event.target))) return;
      menu.open = false;
      document.removeEventListener("pointerdown", outside);
    };
    document.addEventListener("pointerdown", outside);
  });
}
