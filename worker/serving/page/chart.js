// Small charts as plain SVG: bars for counts over time, a line for a figure over time. Each is one path, so a hundred of them cost little.
//
// A chart is an image with a description in words. Lines and bars take the colour of the text around them.

import { svg } from "./dom.js";

const BARS = { width: 120, height: 24 };
const LINE = { width: 120, height: 28 };

/**
 * Draw one bar for each value, the greatest as high as the chart.
 * @param {number[]} values none of them negative
 * @param {{label: string, width?: number, height?: number}} how `label` says in words what is drawn
 * @returns {SVGElement}
 */
export function bars(values, { label, width = BARS.width, height = BARS.height }) {
  const most = Math.max(...values, 0);
  const step = width / Math.max(values.length, 1);
  const wide = Math.max(step - (step > 3 ? 1 : 0.2), 0.5);
  let path = "";
  if (most > 0) {
    values.forEach((value, place) => {
      if (value <= 0) return;
      const high = Math.max((value / most) * (height - 1), 1.2);
      path += `M${short(place * step)} ${height}v${short(-high)}h${short(wide)}v${short(high)}z`;
    });
  }
  return image(["chart", "bars"], { label, width, height }, [baseline(width, height), svg("path", { class: "fill", d: path })]);
}

/**
 * Draw a line through points, from 0 up to the greatest value, with the area below it.
 * @param {[number, number][]} points times in ms, ascending, with their values
 * @param {{label: string, width?: number, height?: number, most?: number}} how `most` is the value of the upper edge, where charts are
 *   compared with each other
 * @returns {SVGElement}
 */
export function line(points, { label, width = LINE.width, height = LINE.height, most = 0 }) {
  const top = Math.max(most, ...points.map(([, value]) => value), 1);
  const from = points.length > 0 ? points[0][0] : 0;
  const span = Math.max((points.at(-1)?.[0] ?? 0) - from, 1);
  const places = points.map(([ms, value]) => [((ms - from) / span) * width, height - 1 - (Math.max(value, 0) / top) * (height - 3)]);
  const path = places.map(([x, y], place) => `${place === 0 ? "M" : "L"}${short(x)} ${short(y)}`).join("");
  const area = places.length > 1 ? `${path}V${height}H0z` : "";
  return image(["chart", "line"], { label, width, height }, [
    baseline(width, height),
    svg("path", { class: "area", d: area }),
    svg("path", { class: "stroke", d: path }),
  ]);
}

/** @param {string[]} kinds @param {{label: string, width: number, height: number}} how @param {SVGElement[]} content */
function image(kinds, { label, width, height }, content) {
  return svg(
    "svg",
    { class: kinds, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label, focusable: "false" },
    ...content,
  );
}

/** @param {number} width @param {number} height */
function baseline(width, height) {
  return svg("path", { class: "ground", d: `M0 ${height - 0.5}H${width}` });
}

/** @param {number} number */
function short(number) {
  return Math.round(number * 100) / 100;
}
