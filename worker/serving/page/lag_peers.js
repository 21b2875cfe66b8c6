// The workers of `http.peers` on the Lag tab: how each of them is, and which did not answer the worker that serves this page.

import { card, verdict } from "./card.js";
import { clear, el } from "./dom.js";
import { compact, plural } from "./format.js";
import { visible } from "./log_text.js";
import { dataTable } from "./table.js";

const STATES = /** @type {Record<string, ["ok" | "warn" | "bad", string]>} */ ({ ready: ["ok", "ready"], not_ready: ["warn", "not ready"], away: ["bad", "no answer"] });

/** @returns {{node: HTMLElement, show: (answer: any) => void}} hidden while there are no peers */
export function peersCard() {
  const { node, body, note } = card("Workers", { class: "wide" });
  const table = dataTable("Workers", [
    { name: "Worker", class: "name", cell: ({ worker, address, is_self: isSelf }) => [el("bdi", {}, visible(worker || address)), isSelf && el("span", { class: "quiet" }, " (this one)")], value: (one) => one.worker },
    { name: "Address", cell: ({ address }) => el("bdi", {}, visible(address)), value: (one) => one.address },
    { name: "State", cell: stateOf, value: (one) => one.state },
    { name: "Partitions", class: "num", cell: (one) => (one.state === "away" ? "" : compact(one.partitions)), value: (one) => one.partitions },
    { name: "Lines/s", class: "num", cell: (one) => (one.lines_per_s === null ? "" : compact(one.lines_per_s)), value: (one) => one.lines_per_s },
    { name: "Version", cell: (one) => visible(one.version), value: (one) => one.version },
  ]);
  node.hidden = true;
  clear(body, table.node);
  return {
    node,
    show({ workers }) {
      node.hidden = workers.length === 0;
      const away = workers.filter((/** @type {any} */ one) => one.state === "away").length;
      note.textContent = away === 0 ? `all ${workers.length} answer` : `${plural(away, "worker")} of ${workers.length} did not answer`;
      table.show(workers);
    },
  };
}

/** @param {any} one */
function stateOf({ state, reason, firing }) {
  const told = [...(reason ? [reason] : []), ...firing].join("; ");
  return [verdict(...STATES[state]), told !== "" && el("span", { class: "quiet" }, " ", visible(told))];
}
