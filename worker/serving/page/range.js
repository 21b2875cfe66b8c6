// Which time is asked for. `since` in the address is a span before now ("15m", "-1h", "now-1h"), milliseconds since 1970, a written time, "all",
// or "" (the page chooses); `until` is such a time or span, or "" (now).

import { clear, el } from "./dom.js";
import { duration, shortTime, time } from "./format.js";
import { timeFrom, zoneName } from "./zone.js";

/** @typedef {{since_ms: number | null, until_ms: number | null, label: string, automatic: boolean}} Range */

const UNIT_MS = /** @type {Record<string, number>} */ ({ s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 });
const NAMES = /** @type {Record<string, string>} */ ({ s: "second", m: "minute", h: "hour", d: "day", w: "week" });
const SPAN = /^(?:now)?\s*-?\s*(\d{1,6})\s*([smhdw])$/i;
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
  const span = SPAN.exec(automatic ? "1h" : since);
  if (span) {
    const [count, unit] = [span[1], span[2].toLowerCase()];
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
  const span = SPAN.exec(text);
  return span ? now - Number(span[1]) * UNIT_MS[span[2].toLowerCase()] : timeFrom(text, now);
}

/**
 * Return what the address says for what somebody typed: a span stays one, a time becomes milliseconds. Null if it is neither.
 * @param {string} text "-3h", "now-3h", "15m", "2026-11-28 11:00", "11:00", "now"
 * @param {string} empty what nothing, and "now", mean
 */
export function typedTime(text, empty) {
  const typed = text.trim();
  if (typed === "" || /^now$/i.test(typed)) return empty;
  const span = SPAN.exec(typed);
  if (span) return `${span[1]}${span[2].toLowerCase()}`;
  const at = moment(typed, Date.now());
  return at === null ? null : String(at);
}

/**
 * Make the control: presets, and from … to, typed or picked.
 * @param {(changes: {since: string, until: string}) => void} choose called with what the address shall say
 * @returns {{node: HTMLElement, update: (state: {since: string, until: string}, range?: Range) => void}}
 */
export function rangePicker(choose) {
  const buttons = PRESETS.map(([since, text, name]) =>
    el("button", { type: "button", "data-since": since, "aria-label": name, title: name, onclick: () => choose({ since, until: "" }) }, text),
  );
  const from = timeField("From", "-3h or 2026-11-28 11:00");
  const to = timeField("To", "now");
  const fault = el("p", { class: "bad", role: "alert" });
  const label = el("span", {}, "Custom");
  const panel = el(
    "form",
    { class: "range-panel", onsubmit: apply },
    from.node,
    to.node,
    el("p", { class: "quiet" }, `A time in ${zoneName()}, or a span before now such as -3h or 15m.`),
    fault,
    el("button", { class: "primary" }, "Apply"),
  );
  const custom = el("details", { class: "menu range-custom" }, el("summary", { class: "button" }, label), panel);
  const node = el("div", { class: "range", role: "group", "aria-label": "Time range" }, el("div", { class: "segments" }, buttons), custom);
  closesOutside(custom);

  /** @param {Event} event */
  function apply(event) {
    event.preventDefault();
    const [since, until] = [typedTime(from.input.value, "all"), typedTime(to.input.value, "")];
    const wrong = since === null ? from : until === null ? to : null;
    const { since_ms, until_ms } = rangeOf({ since: since ?? "", until: until ?? "" });
    const isEmpty = since_ms !== null && since_ms >= (until_ms ?? Infinity);
    if (wrong !== null || isEmpty) {
      fault.textContent = wrong ? "Not a time: write -3h, 15m or 2026-11-28 11:00." : "It ends before it begins.";
      (wrong ?? from).input.focus();
      return;
    }
    fault.textContent = "";
    custom.open = false;
    choose({ since: since ?? "", until: until ?? "" });
  }

  return {
    node,
    update(state, range = rangeOf(state)) {
      const preset = state.until === "" ? state.since || (range.since_ms === null ? "all" : "1h") : "";
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.since === preset));
      const isPreset = PRESETS.some(([since]) => since === preset);
      custom.classList.toggle("chosen", !isPreset);
      clear(label, isPreset ? "Custom" : named(range));
      from.input.value = typedSpan(state.since) ?? (range.since_ms === null ? "" : time(range.since_ms));
      to.input.value = typedSpan(state.until) ?? (range.until_ms === null ? "" : time(range.until_ms));
    },
  };
}

/** A span as it is typed: "-3h"; null for anything else. @param {string} text */
function typedSpan(text) {
  const span = SPAN.exec(text);
  return span && `-${span[1]}${span[2]}`;
}

/**
 * A time that is typed, or picked from the browser's calendar.
 * @param {string} name @param {string} placeholder
 * @returns {{node: HTMLElement, input: HTMLInputElement}}
 */
function timeField(name, placeholder) {
  const id = `range-${name.toLowerCase()}`;
  const input = el("input", { id, placeholder, autocomplete: "off", spellcheck: "false", size: 22 });
  const calendar = el("input", { type: "datetime-local", step: 1, class: "calendar", tabindex: -1, "aria-hidden": "true", onchange: () => (input.value = calendar.value.replace("T", " ")) });
  const pick = el("button", { type: "button", class: "small", "aria-label": `Pick ${name.toLowerCase()} from a calendar`, onclick: () => calendar.showPicker() }, "…");
  return { node: el("div", { class: "row" }, el("label", { for: id }, name), input, pick, calendar), input };
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
