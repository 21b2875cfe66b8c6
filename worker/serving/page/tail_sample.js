// How much of what came lately the Live tab shows, by level: the worker leaves lines out where they come too fast, errors last.

import { LEVELS } from "./histogram.js";

const LATELY_MS = 60_000;

/** @typedef {{at: number, level: string, shown: number, dropped: number}} Came */

/** @returns {{take: (answer: {lines: any[], dropped_by_level?: Record<string, number>}, now: number) => void, empty: () => void, text: (now: number) => string}} */
export function tailSample() {
  /** @type {Came[]} */
  let came = [];
  return {
    take({ lines, dropped_by_level: dropped = {} }, now) {
      for (const { level } of lines) came.push({ at: now, level, shown: 1, dropped: 0 });
      for (const [level, count] of Object.entries(dropped)) came.push({ at: now, level, shown: 0, dropped: count });
      came = came.filter((one) => one.at > now - LATELY_MS);
    },
    empty() {
      came = [];
    },
    text: (now) => rateText(came.filter((one) => one.at > now - LATELY_MS)),
  };
}

/** "about 1 in 4 of INFO, all WARN and ERROR"; "" if all is shown. @param {Came[]} came */
function rateText(came) {
  const levels = LEVELS.map((level) => {
    const of = came.filter((one) => one.level === level);
    const [shown, dropped] = [of.reduce((sum, one) => sum + one.shown, 0), of.reduce((sum, one) => sum + one.dropped, 0)];
    return { name: level || "no level", shown, dropped };
  });
  const some = levels.filter(({ dropped }) => dropped > 0).map(({ name, shown, dropped }) => (shown === 0 ? `none of ${name}` : `about 1 in ${Math.max(Math.round((shown + dropped) / shown), 2)} of ${name}`));
  const all = levels.filter(({ shown, dropped }) => shown > 0 && dropped === 0).map(({ name }) => name);
  if (some.length === 0) return "";
  return [some.join(", "), all.length > 0 && `all ${all.join(" and ")}`].filter(Boolean).join("; ");
}
