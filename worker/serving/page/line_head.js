// A line's text without its head: the time, the level and the service that are shown beside it anyway. Pure functions.

const TIME = String.raw`\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?|[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?: \d{4})?|\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?`;
const AT_TIME = new RegExp(String.raw`^(?:\[(?:${TIME})\]|(?:${TIME}))(?=[\s\]|,;:]|$)(?:[\s|,;:]|-(?=\s))*`);
const AT_LEVEL = /^(?:\[ *([A-Za-z]{3,11}) *\]|<([A-Za-z]{3,11})>|([A-Za-z]{3,11})(?=[\s:|]))(?:[\s|:]|-(?=\s))*/;
/** How programs write each level. */
const WRITTEN = /** @type {Record<string, string[]>} */ ({
  TRACE: ["trace"],
  DEBUG: ["debug", "dbg"],
  INFO: ["info", "information", "notice", "note"],
  WARN: ["warn", "warning", "wrn"],
  ERROR: ["error", "err", "severe"],
  FATAL: ["fatal", "critical", "crit", "panic", "alert", "emerg", "emergency"],
});

/**
 * Return the text without its head; all of it where nothing else would be left.
 * @param {string | null} text
 * @param {{level?: string | null, service?: string | null}} shown what stands beside it
 */
export function withoutHead(text, { level, service }) {
  if (typeof text !== "string") return text;
  let rest = text.trimStart();
  let hasTime = false;
  let hasLevel = false;
  for (;;) {
    const time = hasTime ? null : AT_TIME.exec(rest);
    const word = hasLevel ? null : levelAt(rest, level ?? "", hasTime);
    if (time === null && word === null) break;
    hasTime ||= time !== null;
    hasLevel ||= time === null;
    rest = rest.slice((time ?? word ?? "")[0].length);
  }
  const message = withoutName(rest, service ?? "");
  return message.trim() === "" ? text : message;
}

/**
 * A word that is the line's level: a message may begin with one too, so it is in capitals or brackets, or comes after the time.
 * @param {string} text @param {string} level @param {boolean} afterTime
 */
function levelAt(text, level, afterTime) {
  const found = AT_LEVEL.exec(text);
  if (found === null) return null;
  const word = found[1] ?? found[2] ?? found[3];
  const isMeant = found[3] === undefined || afterTime || word === word.toUpperCase();
  return isMeant && WRITTEN[level]?.includes(word.toLowerCase()) ? found : null;
}

/** @param {string} text @param {string} service */
function withoutName(text, service) {
  if (service === "" || !text.startsWith(service)) return text;
  const rest = /^(?:\[\d+\]|\(\d+\))?: */.exec(text.slice(service.length));
  return rest === null ? text : text.slice(service.length + rest[0].length);
}
