// Everything that is known of a line, as a table; a value that can be filtered by has a button for it.

import { el } from "./dom.js";
import { time } from "./format.js";
import { visible } from "./log_text.js";
import { placeOf } from "./search_request.js";
import { go, read } from "./state.js";

const FIRST = 60;
const CUT = 2_000;
/** What the line says of itself; the kept fields come after it, and then where it came from. */
const OWN = ["time", "level", "service"];

/**
 * @param {any} line
 * @param {import("./hit.js").Hit | null} hit the hit that it stands for; null: it is shown by itself
 * @returns {HTMLElement}
 */
export function fieldTable(line, hit) {
  const fields = line.fields && typeof line.fields === "object" ? Object.entries(line.fields) : [];
  const rows = /** @type {[string, any, Record<string, any> | null][]} */ ([
    ["time", `${time(line.time, { milliseconds: true })}${line.time === line.kafka_time ? ", when it reached Kafka: the line names none" : ""}`, null],
    ["level", line.level, { level: [line.level] }],
    ["service", line.service, { service: [line.service] }],
    ["topic", line.topic, { topic: [line.topic] }],
    ["place", `${placeOf(line)}${line.sub ? `, entry ${line.sub}` : ""}${line.chunks > 1 ? `, piece ${line.chunk + 1} of ${line.chunks}` : ""}`, null],
    ["arrived in Kafka", line.kafka_time ? time(line.kafka_time, { milliseconds: true }) : "", null],
    ["template", line.template_text, { template: [line.template] }],
    ["family", line.name || line.family || hit?.family || "", line.family || hit?.family ? { family: [line.family || hit?.family] } : null],
    ["id", line.id, null],
  ]).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const [own, place] = [rows.filter(([name]) => OWN.includes(name)), rows.filter(([name]) => !OWN.includes(name))];
  const of = (/** @type {typeof rows} */ some) => some.map(([name, value, changes]) => fieldRow(name, value, changes));
  const body = el("tbody", {}, of(own), kept(fields.slice(0, FIRST)), of(place));
  const wrap = el("div", { class: "fields-wrap" }, el("table", { class: "fields" }, el("caption", { class: "visually-hidden" }, "Fields of the line"), body));
  if (typeof line.fields === "string") body.append(fieldRow("fields", line.fields, null));
  if (fields.length > FIRST) {
    const rest = el("button", { type: "button", class: "small", onclick: () => (body.append(...kept(fields.slice(FIRST))), rest.remove()) }, `Show ${fields.length - FIRST} more fields`);
    wrap.append(rest);
  }
  return wrap;
}

/** @param {[string, any][]} fields */
function kept(fields) {
  return fields.map(([name, value]) => {
    const text = fieldText(value);
    return fieldRow(name, text, text.length <= 256 && name.length <= 256 ? { fields: { [name]: [text] } } : null);
  });
}

/** A field's value as questions write it. @param {any} value */
export function fieldText(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** @param {string} name @param {any} value @param {Record<string, any> | null} changes */
function fieldRow(name, value, changes) {
  const text = String(value);
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("bdi", {}, visible(name))),
    el("td", {}, el("bdi", { class: "log" }, visible(text.slice(0, CUT)), text.length > CUT && ` … ${text.length - CUT} more characters`)),
    el("td", { class: "field-filter" }, changes && [
      el("button", { type: "button", class: "small", "aria-label": `Filter by ${name} ${text.slice(0, 80)}`, title: `Only lines with this ${name}`, onclick: () => filterBy(changes) }, "Filter"),
      el("button", { type: "button", class: "small", "aria-label": `Exclude ${name} ${text.slice(0, 80)}`, title: `No lines with this ${name}`, onclick: () => exclude(changes) }, "Not"),
    ]),
  );
}

/** @param {Record<string, any>} changes one list of the state, or values of one field */
function filterBy({ fields, ...lists }) {
  go({ ...lists, ...(fields && { fields: { ...read().fields, ...fields } }), line: "", k: "" });
}

/** Leave out what `filterBy` would ask for, besides what is left out already. @param {Record<string, any>} changes */
function exclude({ fields, ...lists }) {
  const state = read();
  const together = (/** @type {string[]} */ before, /** @type {string[]} */ more) => [...new Set([...before, ...more])];
  const excluded = Object.entries(lists).map(([name, values]) => [`not_${name}`, together(state[`not_${name}`], values)]);
  const ofFields = Object.entries(fields ?? {}).map(([name, values]) => [name, together(Object.hasOwn(state.not_fields, name) ? state.not_fields[name] : [], values)]);
  go({ ...Object.fromEntries(excluded), not_fields: { ...state.not_fields, ...Object.fromEntries(ofFields) }, line: "", k: "" });
}
