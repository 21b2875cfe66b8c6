// The figures at the top of the Lag tab: of the groups that read logs, asked of Kafka, and of this worker.

import { figure } from "./card.js";
import { line } from "./chart.js";
import { compact, duration, number, percent, plural, time } from "./format.js";

/** From this share of the lag on, one partition is named. */
const SKEW_SHARE = 0.6;
/** What an outlook means. */
const MEANS = /** @type {Record<string, string>} */ ({
  caught_up: "everything that Kafka has is indexed",
  keeps_up: "what waits came in the last seconds",
  catches_up: "at the rates of the last minutes",
  falls_behind: "more arrives than is indexed",
  stands_still: "nothing was indexed for two minutes",
  unknown: "it takes half a minute of steady rates to tell",
});

/** @param {any[]} groups @param {any[]} partitions @param {boolean} isOldNow whether the figures are of a while ago */
export function lagFigures(groups, partitions, isOldNow) {
  if (groups.length === 0) return [];
  const records = sum(groups.map((one) => one.records));
  const ages = groups.map((one) => one.seconds).filter((one) => one !== null);
  const history = totalHistory(partitions);
  const chart = history.length > 1 ? line(history, { label: `Records behind since ${time(history[0][0])}: at most ${number(Math.max(...history.map(([, value]) => value)))}`, width: 160, height: 30 }) : null;
  return [
    figure("Records behind", compact(records), `in ${plural(partitions.length, "partition")}`, { chart, isOld: isOldNow }),
    figure("Seconds behind", records === 0 ? "0 s" : ages.length > 0 ? duration(Math.max(...ages)) : "unknown", "age of the oldest record that is not indexed", { isOld: isOldNow }),
    ...groups.map((one) => figure("Outlook", one.outlook_text, MEANS[one.outlook] ?? "", { kind: isBad(one) ? "warn" : "", isOld: isOldNow })),
  ];
}

/** Whether a lag does not shrink. @param {any} one a group or a partition */
export function isBad(one) {
  return one.outlook === "falls_behind" || one.outlook === "stands_still";
}

/** @param {any} status @param {boolean} isOldNow whether the figures are of a while ago */
export function ownFigures(status, isOldNow) {
  if (!status) return [];
  const wait = status.searchable;
  const own = `of ${status.worker}`;
  const rate = status.rates?.lines_per_s;
  return [
    figure("Searchable after", wait ? duration(wait.p50_s) : "–", wait ? `half of the lines${wait.since_start === false ? " of the last 10 minutes" : ""}; 99% within ${duration(wait.p99_s)}; ${own}` : `no line was indexed yet; ${own}`, { isOld: isOldNow }),
    figure("Lines per second", typeof rate === "number" ? compact(rate) : "–", typeof rate === "number" ? `indexed; ${own}` : `known in a few seconds; ${own}`, { isOld: isOldNow }),
  ];
}

/**
 * Add up the histories of partitions: of each moment that any of them knows, with what the others knew last.
 * @param {any[]} partitions
 * @returns {[number, number][]}
 */
export function totalHistory(partitions) {
  const times = [...new Set(partitions.flatMap((one) => (one.history ?? []).map((/** @type {[number, number]} */ [ms]) => ms)))].sort((a, b) => a - b);
  const totals = new Map(times.map((ms) => [ms, 0]));
  for (const { history = [] } of partitions) {
    let place = 0;
    let last = history.length > 0 ? history[0][1] : 0;
    for (const ms of times) {
      while (place < history.length && history[place][0] <= ms) last = history[place++][1];
      totals.set(ms, (totals.get(ms) ?? 0) + last);
    }
  }
  return [...totals];
}

/** Say which partition has most of the lag, if one has. @param {any[]} partitions */
export function skewOf(partitions) {
  const total = sum(partitions.map((one) => one.records));
  if (partitions.length < 2 || total < 1000) return "";
  const most = partitions.reduce((one, other) => (other.records > one.records ? other : one));
  const share = most.records / total;
  if (share < Math.max(SKEW_SHARE, 2 / partitions.length)) return "";
  return `${percent(share)} of the lag is in ${most.topic}/${most.partition}. If it stays so, its records have keys that gather there, or its worker is slower than the others.`;
}

/** @param {number[]} values */
function sum(values) {
  return values.reduce((one, other) => one + other, 0);
}
