// A table that sorts by its columns. On a narrow screen each row becomes a block, in which every cell has its column's name before it.

import { clear, el } from "./dom.js";
import { number } from "./format.js";

/** Rows that are shown before somebody asks for the rest. */
const MOST_ROWS = 200;

/**
 * @typedef {{name: string, cell: (row: any) => any, value?: (row: any) => any, class?: string}} Column
 * `value` is what the column is sorted by (a number, a text, or null, which comes last); without it, the column is not sortable.
 */

/**
 * Make a table; `show` fills it.
 * @param {string} label what a screen reader calls it
 * @param {Column[]} columns
 * @param {{sort?: string, isUp?: boolean, onsort?: (name: string, isUp: boolean) => void}} [how] the column it is sorted by at first
 * @returns {{node: HTMLElement, show: (rows: any[]) => void, sortBy: (name: string, isUp: boolean) => void}}
 */
export function dataTable(label, columns, { sort = "", isUp = false, onsort = () => {} } = {}) {
  /** @type {any[]} */
  let shown = [];
  let most = MOST_ROWS;
  const heads = columns.map((column) =>
    el(
      "th",
      { scope: "col", role: "columnheader", class: column.class },
      column.value ? el("button", { type: "button", class: "sort", onclick: () => press(column) }, column.name) : column.name,
    ),
  );
  const body = el("tbody", { role: "rowgroup" });
  const more = el("button", { type: "button", class: "small", hidden: true, onclick: () => ((most = Infinity), draw()) });
  const table = el(
    "table",
    { class: "data", role: "table", "aria-label": label },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)),
    body,
  );

  /** @param {Column} column */
  function press(column) {
    isUp = sort === column.name ? !isUp : false;
    sort = column.name;
    draw();
    onsort(sort, isUp);
  }

  function draw() {
    const by = columns.find((column) => column.name === sort)?.value;
    const rows = by ? sorted(shown, by, isUp) : shown;
    columns.forEach((column, place) => {
      if (!column.value) return;
      heads[place].setAttribute("aria-sort", column.name !== sort ? "none" : isUp ? "ascending" : "descending");
    });
    clear(body, rows.slice(0, most).map((row) => rowOf(row, columns)));
    more.hidden = rows.length <= most;
    more.textContent = `Show all ${number(rows.length)}`;
  }

  return {
    node: el("div", { class: "table-wrap" }, table, more),
    show: (rows) => {
      shown = rows;
      draw();
    },
    sortBy: (name, up) => {
      sort = name;
      isUp = up;
      draw();
    },
  };
}

/** @param {any} row @param {Column[]} columns */
function rowOf(row, columns) {
  return el(
    "tr",
    { role: "row" },
    columns.map((column) => el("td", { role: "cell", class: column.class, "data-name": column.name }, column.cell(row))),
  );
}

/**
 * Return the rows in order; those without a value last, whichever way.
 * @param {any[]} rows
 * @param {(row: any) => any} by
 * @param {boolean} isUp
 */
export function sorted(rows, by, isUp) {
  const sign = isUp ? 1 : -1;
  return [...rows].sort((one, other) => {
    const [a, b] = [by(one), by(other)];
    if (a === null || a === undefined || b === null || b === undefined) return Number(a === null || a === undefined) - Number(b === null || b === undefined);
    return sign * (typeof a === "string" ? a.localeCompare(String(b), "en", { numeric: true }) : a - b);
  });
}
