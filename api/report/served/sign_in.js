// Sign-in: asks for a bearer token, which is kept for this tab only and sent with each request.

import { make } from "report/dom.js";

/**
 * Show the form until a token is given.
 * @param {Document} document @param {string} why The reason to ask, as shown.
 * @returns {Promise<string>}
 */
export function askForToken(document, why) {
  const input = make("input", { type: "password", id: "token", name: "token", autocomplete: "current-password", required: true, pattern: "[!-~]+", title: "letters, digits and signs without spaces", spellcheck: "false" });
  const form = make("form", { class: "sign-in", "aria-labelledby": "sign-in" },
    make("h1", { id: "sign-in" }, "Sign in"),
    make("p", { role: "status" }, why),
    // Password managers store a token only together with a user name.
    make("input", { type: "text", name: "username", autocomplete: "username", value: "metalog", hidden: true }),
    make("label", { for: "token" }, "Bearer token"), input,
    make("p", { class: "muted" }, "It is kept until this tab is closed, and sent to this service only."),
    make("button", { type: "submit" }, "sign in"));
  document.body.replaceChildren(form);
  input.focus();
  return new Promise((given) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      form.remove();
      given(input.value.trim());
    });
  });
}
