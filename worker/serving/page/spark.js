// Small charts of counts over time: one bar a bucket, no axis. What they show is said in words beside them.

import { svg } from "./dom.js";

/**
 * @param {Map<number, number>} counts lines by the bucket's begin
 * @param {{since: number, buckets: number, bucketMs: number, most?: number}} scale
 * @returns {SVGElement}
 */
export function sparkBars(counts, { since, buckets, bucketMs, most = 0 }) {
  const highest = most || Math.max(1, ...counts.values());
  const bars = [...counts].map(([at, lines]) => {
    const height = Math.max((lines / highest) * 22, 1.5);
    return svg("rect", { x: Math.round((at - since) / bucketMs) * 4, y: 24 - height, width: 3, height });
  });
  return svg("svg", { class: "spark", viewBox: `0 0 ${buckets * 4} 24`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" }, bars);
}
