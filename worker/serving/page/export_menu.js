// Export of everything that matches, as links: the browser saves the stream, however long it is.

import { addressOf } from "./api.js";
import { clear, el } from "./dom.js";
import { closesOutside } from "./range.js";
import { exportBody } from "./search_request.js";

/** @returns {{node: HTMLElement, update: (state: any, range: any) => void}} */
export function exportMenu() {
  const list = el("ul", { class: "menu-list" });
  const note = el("p", { class: "quiet" });
  const node = el("details", { class: "menu" }, el("summary", { class: "button" }, "Export"), el("div", { class: "menu-list export" }, list, note));
  closesOutside(node);
  return {
    node,
    update(state, range) {
      const query = JSON.stringify(exportBody(state, range));
      const links = /** @type {[string, string][]} */ ([["csv", "CSV"], ["ndjson", "NDJSON"]]);
      clear(list, links.map(([format, name]) => el("li", {}, el("a", { class: "button", href: addressOf("/api/export", { query, format }), download: "" }, `Download as ${name}`))));
      const of = state.q.trim() ? " For a question that is the lines of the 64 templates that fit best." : "";
      note.textContent = `Every line that matches ${range.label}, not only what is shown. Its last line says “complete”, or where it stopped.${of}`;
    },
  };
}
