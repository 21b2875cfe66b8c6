// The models of the embedding service, as one worker tells them on the Lag tab; not there where the service is off.

import { card, verdict } from "./card.js";
import { clear, el } from "./dom.js";
import { bytes, compact, duration } from "./format.js";
import { visible } from "./log_text.js";
import { dataTable } from "./table.js";

const KINDS = /** @type {Record<string, "ok" | "bad" | "none">} */ ({ ready: "ok", failed: "bad" });

/** @returns {ReturnType<typeof card> & {show: (models: any[]) => void}} */
export function servedModelsCard() {
  const made = card("Embedding service", { class: "wide" });
  const table = dataTable(
    "Models of the embedding service",
    [
      { name: "Model", value: (one) => one.name, cell: (one) => visible(one.name), class: "name" },
      { name: "State", value: (one) => one.state, cell: stateOf },
      { name: "Memory", value: (one) => one.bytes, cell: (one) => (one.bytes === null ? "beside the budget" : bytes(one.bytes)), class: "num" },
      { name: "Requests", value: (one) => one.requests, cell: (one) => compact(one.requests), class: "num" },
      { name: "Waits", value: (one) => one.backlog_s, cell: (one) => (one.backlog_s > 0 ? duration(one.backlog_s) : "nothing"), class: "num" },
    ],
    { sort: "Requests" },
  );
  clear(made.body, table.node);
  return {
    ...made,
    show(models) {
      made.node.hidden = models.length === 0;
      table.show(models);
    },
  };
}

/** @param {any} one */
function stateOf(one) {
  return [verdict(KINDS[one.state] ?? "none", one.state), one.error && el("span", { class: "quiet" }, " ", visible(one.error))];
}
