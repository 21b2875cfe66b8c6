// An open hit: the whole line, everything that is known of it, what stands around it, the lines and templates of its family, and what can be
// done with it.

import { ask } from "./api.js";
import { clear } from "./dom.js";
import { lineParts } from "./line_parts.js";
import { neighbours } from "./neighbours.js";
import { familyLines, familyTemplates } from "./family_parts.js";
import { newestBody } from "./search_request.js";
import { statusLine } from "./status.js";

/**
 * @typedef {{state: import("./state.js").State, range: import("./range.js").Range, words: string[], body: any, say: (text: string) => void}} Context
 * @typedef {{close: () => void, more: () => void}} Detail
 */

/**
 * Fill the detail of a hit; what it needs from the worker is asked for here.
 * @param {HTMLElement} node
 * @param {import("./hit.js").Hit} hit
 * @param {Context} context
 * @returns {Detail}
 */
export function openDetail(node, hit, context) {
  const asked = new AbortController();
  const status = statusLine();
  /** @type {{more: () => void}[]} */
  let parts = [];
  node.replaceChildren(status.node);

  async function begin() {
    let { line } = hit;
    if (line === null) {
      status.busy("Reading the newest line of this family …");
      // Of the level that is shown: a family of errors may have newer lines that are none.
      try {
        const answer = await ask("/api/search", newestBody({ ...context.state, ...(hit.level && { level: [hit.level] }) }, context.range, hit.family, 1), { signal: asked.signal });
        line = answer.hits[0] ?? null;
      } catch (error) {
        if (!asked.signal.aborted) status.problem(error, begin);
        return;
      }
      if (line === null) {
        status.say("The lines of this family have been removed meanwhile.");
        return;
      }
    }
    show(line);
  }

  /** @param {any} line */
  function show(line) {
    const around = neighbours(line, context, asked.signal);
    const lines = familyLines(hit, context, asked.signal);
    const templates = familyTemplates(hit, context, asked.signal);
    parts = [around, lines, templates];
    status.close();
    clear(
      node,
      lineParts(hit, line, context),
      around.node,
      lines.node,
      templates.node,
    );
  }

  begin();
  return { close: () => (asked.abort(), status.close()), more: () => parts.forEach((part) => part.more()) };
}
