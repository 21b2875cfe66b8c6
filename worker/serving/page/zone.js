// The zone that times are shown and read in: this browser's, or UTC, as it was chosen on this machine.

const KEY = "vectail.zone";
const MINUTE_MS = 60_000;
const WRITTEN = /^(?:(\d{4}-\d{2}-\d{2})(?:[T ]+|$))?(\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)?\s*(Z|UTC|[+-]\d{2}:\d{2})?$/i;
let isUtc = chosenUtc();

/** Return a date whose UTC parts are what the clocks of the zone show. @param {number} ms */
export function clockOf(ms) {
  return new Date(isUtc ? ms : ms - new Date(ms).getTimezoneOffset() * MINUTE_MS);
}

/**
 * Return the time that a text names, in milliseconds: "2026-11-28 11:00", "2026-11-28T11:00:30Z", "2026-11-28", or "11:00" of today. Null if
 * it names none.
 * @param {string} text
 * @param {number} [now]
 */
export function timeFrom(text, now = Date.now()) {
  const found = WRITTEN.exec(text.trim());
  if (!found || (!found[1] && !found[2])) return null;
  const day = found[1] ?? clockOf(now).toISOString().slice(0, 10);
  const clock = (found[2] ?? "00:00").replace(/^(\d):/, "0$1:");
  const ending = (found[3] ?? (isUtc ? "Z" : "")).toUpperCase().replace("UTC", "Z");
  const ms = new Date(`${day}T${clock}${ending}`).getTime();
  return Number.isNaN(ms) ? null : ms;
}

/** "UTC", "UTC+2", "UTC+5:30": of the zone at that time. @param {number} [ms] */
export function zoneOffset(ms = Date.now()) {
  const minutes = isUtc ? 0 : -new Date(ms).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const rest = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? "-" : "+"}${Math.floor(Math.abs(minutes) / 60)}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

/** "Europe/Berlin, UTC+2", or "UTC". */
export function zoneName() {
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return isUtc || !name || name === "UTC" ? zoneOffset() : `${name}, ${zoneOffset()}`;
}

/** Whether this browser's zone is another one than UTC, so that there is something to choose. */
export function hasChoice() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone !== "UTC";
}

/** Take the other one, and remember it. */
export function switchZone() {
  isUtc = !isUtc;
  try {
    localStorage.setItem(KEY, isUtc ? "UTC" : "");
  } catch {
    // Storage may be forbidden: the choice holds until the page is closed.
  }
}

function chosenUtc() {
  try {
    return localStorage.getItem(KEY) === "UTC";
  } catch {
    return false;
  }
}
