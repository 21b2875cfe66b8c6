// Whether long lines are wrapped or run on to the right: as it was chosen on this machine.

import { el } from "./dom.js";

const KEY = "vectail.wrap";

/** Make the button; the choice holds for every line on the page. @returns {HTMLElement} */
export function wrapButton() {
  const button = el("button", { type: "button", title: "Long lines are wrapped, or run on to the right", onclick: turn }, "Wrap");

  /** @param {boolean} isOn */
  function take(isOn) {
    document.documentElement.dataset.wrap = isOn ? "on" : "off";
    button.setAttribute("aria-pressed", String(isOn));
  }

  function turn() {
    const isOn = document.documentElement.dataset.wrap === "off";
    take(isOn);
    try {
      localStorage.setItem(KEY, isOn ? "on" : "off");
    } catch {
      // Storage may be forbidden: the choice holds until the page is closed.
    }
  }

  take(chosen() !== "off");
  return button;
}

function chosen() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
