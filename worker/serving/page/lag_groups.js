// A consumer group on the Lag tab: its state and members, and its partitions as a table.

import { card, verdict } from "./card.js";
import { line } from "./chart.js";
import { clear, el } from "./dom.js";
import { duration, number, plural, time } from "./format.js";
import { isBad } from "./lag_figures.js";
import { visible } from "./log_text.js";
import { dataTable } from "./table.js";

/** What Kafka calls a group, in words. */
const STATES = /** @type {Record<string, [("ok" | "warn" | "bad" | "none"), string]>} */ ({
  stable: ["ok", "stable"],
  empty: ["bad", "empty: no worker is in it"],
  dead: ["bad", "unknown to Kafka"],
  unknown: ["none", "state not known"],
  preparingrebalance: ["warn", "rebalancing"],
  completingrebalance: ["warn", "rebalancing"],
  assigning: ["warn", "rebalancing"],
  reconciling: ["warn", "rebalancing"],
});

/**
 * @param {string} name
 * @param {{sort: string, onsort: (sort: string) => void}} how `sort` is a column, with "-" before it for descending
 * @returns {{node: HTMLElement, show: (group: any, oldMs: number | null) => void, sortBy: (sort: string) => void}}
 */
export function groupCard(name, { sort, onsort }) {
  const { node, body, note } = card(`Group ${name}`, { class: "group" });
  const facts = el("div", { class: "facts" });
  let most = 0;
  let knowsMembers = true;
  const table = dataTable(`Partitions of ${name}`, columns(() => most, () => knowsMembers), {
    sort: "Records",
    onsort: (column, isUp) => onsort(`${isUp ? "" : "-"}${column}`),
  });
  const empty = el("p", { class: "quiet", hidden: true }, "It has no partitions: the topics that it reads do not exist yet, or have none.");
  const members = el("details", { class: "members" });
  clear(body, facts, table.node, empty, members);

  /** @param {string} asked */
  function sortBy(asked) {
    if (asked) table.sortBy(asked.replace(/^-/, ""), !asked.startsWith("-"));
  }
  sortBy(sort);
  return {
    node,
    sortBy,
    show(group, oldMs) {
      node.classList.toggle("old", oldMs !== null);
      note.textContent = oldMs === null ? kindOf(group.kind) : `as it was at ${time(oldMs)}`;
      most = Math.max(...group.partitions.map((/** @type {any} */ one) => one.records), 0);
      knowsMembers = group.members.length > 0 || String(group.state).toLowerCase() !== "unknown";
      clear(facts, factsOf(group, knowsMembers));
      table.node.hidden = group.partitions.length === 0;
      empty.hidden = group.partitions.length > 0;
      table.show(group.partitions);
      members.hidden = !knowsMembers;
      showMembers(members, group.members);
    },
  };
}

/** @param {string} kind */
function kindOf(kind) {
  return kind === "queries" ? "answers queries from Kafka" : "reads log topics";
}

/** @param {any} group @param {boolean} knowsMembers */
function factsOf(group, knowsMembers) {
  const [kind, word] = STATES[String(group.state).toLowerCase().replace(/[\s_-]/g, "")] ?? ["none", String(group.state)];
  return [
    verdict(kind, word),
    group.protocol ? el("span", { class: "quiet" }, `protocol ${group.protocol}`) : null,
    el("span", { class: "quiet" }, knowsMembers ? plural(group.members.length, "member") : "this broker does not say who is in it"),
    el("span", { class: "quiet" }, `${plural(group.records, "record")} behind`),
  ];
}

/**
 * @param {() => number} most the records of the partition that has most
 * @param {() => boolean} knowsMembers whether Kafka says who reads what
 * @returns {import("./table.js").Column[]}
 */
function columns(most, knowsMembers) {
  return [
    { name: "Partition", value: (one) => `${one.topic}/${one.partition}`, cell: (one) => [...visible(one.topic), `/${one.partition}`], class: "name" },
    { name: "Records", value: (one) => one.records, cell: (one) => [number(one.records), share(one.records, most())], class: "num" },
    { name: "Behind", value: (one) => one.seconds, cell: (one) => (one.records === 0 ? "–" : one.seconds === null ? "unknown" : duration(one.seconds)), class: "num" },
    { name: "Outlook", value: (one) => one.caught_up_in_s?.[1] ?? (isBad(one) ? Infinity : 0), cell: outlook },
    { name: "Last minutes", cell: history, class: "chart-cell" },
    { name: "Owner", value: (one) => one.member, cell: (one) => (one.member ? visible(one.member) : knowsMembers() ? el("span", { class: "bad" }, "nobody") : "–"), class: "owner" },
  ];
}

/** @param {any} one */
function outlook(one) {
  return isBad(one) ? el("span", { class: "warn" }, one.outlook_text) : one.outlook_text;
}

/** @param {number} records @param {number} most */
function share(records, most) {
  return el("span", { class: "bar", "aria-hidden": "true" }, el("span", { style: { width: `${most > 0 ? Math.round((records / most) * 100) : 0}%` } }));
}

/** @param {any} one */
function history(one) {
  const points = one.history ?? [];
  if (points.length < 2) return el("span", { class: "quiet" }, "not known yet");
  const values = points.map((/** @type {[number, number]} */ [, records]) => records);
  const least = Math.min(...values);
  const greatest = Math.max(...values);
  const label = `Since ${time(points[0][0]).slice(11)} between ${number(least)} and ${number(greatest)} records behind, now ${number(values.at(-1))}`;
  return line(points, { label });
}

/** @param {HTMLElement} node @param {any[]} members */
function showMembers(node, members) {
  const summary = node.querySelector("summary") ?? el("summary", {}, "Members and what they read");
  const list = members.map((one) =>
    el(
      "li",
      {},
      el("strong", {}, visible(one.member)),
      one.host ? el("span", { class: "quiet" }, " at ", visible(String(one.host).replace(/^\//, ""))) : null,
      el("span", {}, ": ", one.partitions.length > 0 ? visible(one.partitions.join(", ")) : "nothing"),
    ),
  );
  clear(node, summary, members.length > 0 ? el("ul", { class: "plain-list" }, list) : el("p", { class: "quiet" }, "Nobody is in this group: nothing is read from its topics."));
}
