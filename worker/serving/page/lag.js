// The Lag tab: how far behind the groups are (of all workers, asked of Kafka), and how this worker fares (its own figures, with its name).
//
// The two are asked for apart, so that one that is away takes nothing from the other. What was last known stays, greyed, with its age.

import { get } from "./api.js";
import { clear, el } from "./dom.js";
import { time } from "./format.js";
import { lagFigures, ownFigures, skewOf } from "./lag_figures.js";
import { groupCard } from "./lag_groups.js";
import { peersCard } from "./lag_peers.js";
import { summaryOf } from "./lag_summary.js";
import { workerCards } from "./lag_worker.js";
import { refresh } from "./refresh.js";
import { go } from "./state.js";
import { statusLine } from "./status.js";

const EVERY_S = 5;
/** Older than this, figures are shown as old ones. */
const FRESH_S = 20;

/**
 * @param {HTMLElement} view
 * @param {import("./state.js").State} state
 */
export function open(view, state) {
  /** @type {{lag: any, status: any, change: any, lagError: any, statusError: any, lagMs: number, statusMs: number}} */
  const known = { lag: null, status: null, change: null, lagError: null, statusError: null, lagMs: 0, statusMs: 0 };
  const status = statusLine();
  const totals = el("dl", { class: "totals", "aria-label": "Totals" });
  const skew = el("p", { class: "skew", hidden: true });
  const worker = workerCards();
  const peers = peersCard();
  const groups = el("div", { class: "stack" });
  /** @type {Map<string, ReturnType<typeof groupCard>>} */
  const byGroup = new Map();
  let said = "";
  status.busy("Asking Kafka how far behind the groups are …");
  clear(
    view,
    el("h1", { class: "visually-hidden" }, "Lag"),
    el("div", { class: "lag" }, status.node, totals, skew, peers.node, worker.first, groups, worker.rest),
  );

  /** @param {string} text @param {() => void} show */
  function sayOnce(text, show) {
    if (text === said) return;
    said = text;
    show();
  }

  /** @param {AbortSignal} signal */
  async function ask(signal) {
    await Promise.all([
      take("/api/lag", signal, (answer) => ((known.lag = answer), (known.lagMs = Date.now())), (error) => (known.lagError = error)),
      take("/api/status", signal, (answer) => ((known.status = answer), (known.statusMs = Date.now())), (error) => (known.statusError = error)),
      take("/api/workers", signal, peers.show, () => {}),
    ]);
    if (hasTwoModels()) await take("/api/reindex", signal, (answer) => (known.change = answer), () => {});
  }

  /** @param {string} path @param {AbortSignal} signal @param {(answer: any) => void} keep @param {(error: any) => void} fault */
  async function take(path, signal, keep, fault) {
    try {
      keep(await get(path, {}, { signal }));
      fault(null);
    } catch (error) {
      if (signal.aborted) throw error;
      fault(error);
      if (/** @type {any} */ (error).status === 401) asking.stop();
    }
    if (!isSelecting(view)) draw();
  }

  function draw() {
    const summary = summaryOf(known);
    sayOnce(summary.text, () => {
      if (summary.error) status.problem(summary.error, again);
      else status.say(...summary.children);
      if (summary.kind !== "") status.node.dataset.kind = summary.kind;
    });
    drawTotals();
    drawGroups();
    worker.show(known.status, known.statusError && known.status ? time(known.statusMs) : "", hasTwoModels() ? known.change : null);
  }

  function hasTwoModels() {
    return known.status?.index_models > 1;
  }

  function again() {
    said = "";
    status.busy("Asking again …");
    asking.stop();
    asking = refresh(EVERY_S, ask);
  }

  function drawTotals() {
    if (!known.lag && !known.status) return;
    const logs = (known.lag?.groups ?? []).filter((/** @type {any} */ group) => group.kind === "logs");
    const partitions = logs.flatMap((/** @type {any} */ group) => group.partitions);
    clear(totals, lagFigures(logs, partitions, isOld(known)), ownFigures(known.status, Boolean(known.statusError)));
    const heaviest = skewOf(partitions);
    skew.hidden = heaviest === "";
    skew.textContent = heaviest;
  }

  function drawGroups() {
    const now = known.lag?.groups ?? [];
    for (const group of now) {
      if (byGroup.has(group.group)) continue;
      const one = groupCard(group.group, { sort: state.sort ?? "", onsort: (sort) => go({ sort }, { replace: true }) });
      byGroup.set(group.group, one);
      groups.append(one.node);
    }
    for (const [name, one] of byGroup) {
      const group = now.find((/** @type {any} */ each) => each.group === name);
      if (group) one.show(group, isOld(known) ? (group.read_ms ?? known.lag.asked_ms) : null);
      else {
        byGroup.delete(name);
        one.node.remove();
      }
    }
  }

  let asking = refresh(EVERY_S, ask);
  return {
    update: (/** @type {any} */ changed) => byGroup.forEach((one) => one.sortBy(changed.sort ?? "")),
    close: () => {
      asking.stop();
      status.close();
    },
  };
}

/** Whether Kafka, or the worker, could not be asked lately; by this browser's clock alone, which need not agree with the worker's. @param {any} known */
function isOld({ lag, lagError, lagMs }) {
  return lag !== null && (Boolean(lag.error) || lagError !== null || Date.now() - lagMs > FRESH_S * 1000);
}

/** Whether somebody selects text here, which drawing would undo. @param {HTMLElement} view */
function isSelecting(view) {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && view.contains(selection.anchorNode);
}
