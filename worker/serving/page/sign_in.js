// Signing in and out. The token goes to the worker once, which answers with a cookie that no script can read: the page keeps nothing.

import { addressOf, ApiError, remove, sessionOf } from "./api.js";
import { el } from "./dom.js";

/** @type {HTMLElement | null} */
let place = null;

/**
 * Show the form until somebody has signed in. Rejects with an ApiError (401) if it is closed.
 * @returns {Promise<void>}
 */
export function signIn() {
  return new Promise((resolve, reject) => {
    let isSignedIn = false;
    const problem = el("p", { class: "wrong", role: "alert", id: "sign-in-problem" });
    const token = el("input", {
      type: "password",
      id: "sign-in-token",
      autocomplete: "current-password",
      autocapitalize: "none",
      spellcheck: "false",
      required: true,
      "aria-describedby": "sign-in-problem",
    });
    const button = el("button", { class: "primary", type: "submit" }, "Sign in");
    const form = el(
      "form",
      { class: "sign-in", method: "post", onsubmit: submit },
      el("h2", { id: "sign-in-title" }, "Sign in"),
      el("p", {}, "This worker answers only with its token. It is the setting ", el("code", {}, "http.token"), "; ask whoever runs it."),
      el("label", { for: "sign-in-token" }, "Token"),
      token,
      problem,
      el("div", { class: "buttons" }, button),
      el("p", { class: "quiet" }, "The token is not stored in this browser, only a cookie that ends after 12 hours or with “Sign out”."),
    );
    const dialog = el("dialog", { class: "dialog", "aria-labelledby": "sign-in-title", onclose: closed }, form);
    document.body.append(dialog);
    dialog.showModal();
    token.focus();

    /** @param {SubmitEvent} event */
    async function submit(event) {
      event.preventDefault();
      button.disabled = true;
      button.textContent = "Signing in …";
      problem.textContent = "";
      const wrong = await refusal(token.value);
      button.disabled = false;
      button.textContent = "Sign in";
      if (wrong === "") {
        isSignedIn = true;
        dialog.close();
        return;
      }
      problem.textContent = wrong;
      token.setAttribute("aria-invalid", "true");
      token.select();
      token.focus();
    }

    function closed() {
      token.value = "";
      dialog.remove();
      showSession();
      if (isSignedIn) resolve();
      else reject(new ApiError({ status: 401, code: "unauthorized", reason: "You are not signed in." }));
    }
  });
}

/**
 * Put a button to sign out into the header, where this worker needs a token and this browser is signed in.
 * @param {HTMLElement} header
 */
export function mountSession(header) {
  const mine = el("span", { class: "session" });
  header.append(mine);
  place = mine;
  return showSession();
}

async function showSession() {
  if (place === null) return;
  const session = await sessionOf({ fresh: true }).catch(() => null);
  place.replaceChildren();
  if (!session?.needs_token) return;
  const button = session.signed_in
    ? el("button", { type: "button", class: "plain", onclick: signOut }, "Sign out")
    : el("button", { type: "button", class: "plain", onclick: () => signIn().then(() => location.reload(), () => {}) }, "Sign in");
  place.append(button);
}

/** End the session and load the page anew, so that nothing of what was read stays in it. */
async function signOut(/** @type {Event} */ event) {
  const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
  button.disabled = true;
  try {
    await remove("/api/session");
    location.reload();
  } catch (error) {
    button.disabled = false;
    button.textContent = `Sign out failed: ${error instanceof ApiError ? error.reason : error}`;
  }
}

/**
 * Send the token, and return why it was refused, "" if it was not.
 * @param {string} token
 */
async function refusal(token) {
  let response;
  try {
    response = await fetch(addressOf("/api/session"), {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
  } catch {
    return "The worker does not answer. Try again in a moment.";
  }
  if (response.ok) return "";
  if (response.status === 401) return "This is not the token of this worker.";
  const seconds = response.headers.get("Retry-After");
  if (response.status === 429) return `Too many attempts. Try again in ${seconds ?? "a few"} seconds.`;
  return `The worker refused with HTTP ${response.status}. Try again in a moment.`;
}
