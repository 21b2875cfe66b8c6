// Elements without markup: everything that is shown is a text node or an attribute, so a log line can never become HTML.

/** @typedef {Node | string | number | null | undefined | false | any[]} Child lists may be nested */

const PROPERTIES = new Set(["value", "checked", "selected", "open", "indeterminate"]);
const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an HTML element.
 *
 * Attributes: null, undefined and false leave one out, true sets it empty; `class` may be a list; `style` is an object of CSS properties
 * (set one by one: the page's policy forbids the attribute); `onclick` and the like are functions.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {any}
 */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/**
 * Make an SVG element, by the same rules.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {any}
 */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * Empty a node and put these children into it.
 * @template {Element | DocumentFragment} T
 * @param {T} node
 * @param {...Child} children
 * @returns {T}
 */
export function clear(node, ...children) {
  node.replaceChildren(...nodes(children));
  return node;
}

/** @param {any} node @param {Record<string, any>} attributes @param {any[]} children */
function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) set(node, name, value);
  node.append(...nodes(children));
  return node;
}

/** @param {any} node @param {string} name @param {any} value */
function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) {
    if (typeof value !== "function") throw new TypeError(`${name} must be a function`);
    node.addEventListener(name.slice(2), value);
  } else if (name === "style") {
    for (const [property, one] of Object.entries(value)) node.style.setProperty(property, String(one));
  } else if (PROPERTIES.has(name)) {
    node[name] = value;
  } else if (name === "href" && /^\s*(javascript|data|vbscript):/i.test(String(value))) {
    throw new TypeError("a link must not run anything");
  } else {
    const text = name === "class" && Array.isArray(value) ? value.filter(Boolean).join(" ") : value === true ? "" : String(value);
    node.setAttribute(name, text);
  }
}

/** @param {any[]} children @returns {(Node | string)[]} */
function nodes(children) {
  return children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false).map((one) => (one instanceof Node ? one : String(one)));
}
