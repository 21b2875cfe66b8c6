// A question that is an id is answered with the lines that have it, not with families: counts by the question would count whole templates, so
// what is shown of such an answer is made of its lines.

const WIDTHS_MS = [1, 10, 100, 1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000, 2_419_200_000];
const BUCKETS = 60;

/**
 * Whether an answer holds lines because the question was nothing but ids.
 * @param {any} state
 * @param {any} answer
 */
export function isExact(state, answer) {
  return state.q.trim() !== "" && state.mode !== "words" && answer.mode === "words";
}

/**
 * Whether the hits of an answer stand for themselves, not for their families.
 * @param {any} state
 * @param {any} answer
 */
export function areLines(state, answer) {
  return answer.hits !== undefined && (state.q.trim() === "" || isExact(state, answer));
}

/**
 * Count lines by time and level as /api/counts does.
 * @param {any[]} lines
 * @returns {{counts: {time: number, level: string, lines: number, first: number, last: number}[], bucket_ms: number}}
 */
export function countsOfLines(lines) {
  const times = lines.map((line) => line.time);
  const span = times.length > 0 ? Math.max(...times) - Math.min(...times) : 0;
  const bucket_ms = WIDTHS_MS.find((width) => span / width < BUCKETS) ?? Math.ceil(span / BUCKETS);
  /** @type {Map<string, {time: number, level: string, lines: number, first: number, last: number}>} */
  const counts = new Map();
  for (const { time, level } of lines) {
    const at = Math.floor(time / bucket_ms) * bucket_ms;
    const one = counts.get(`${at} ${level}`) ?? { time: at, level, lines: 0, first: time, last: time };
    counts.set(`${at} ${level}`, { ...one, lines: one.lines + 1, first: Math.min(one.first, time), last: Math.max(one.last, time) });
  }
  return { counts: [...counts.values()], bucket_ms };
}
