// Elements of the page.

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, any>} [properties] Events begin with `on`; the rest are attributes.
 * @param {...(Node|string|null)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    // As an attribute it would be inline style, which the service's page does not allow.
    else if (name === "style") element.style.cssText = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A command line with a button that copies it. @param {string} command */
export function commandLine(command) {
  const code = make("code", { tabindex: "0", "aria-label": "the command that gives the same" }, command);
  const button = make("button", { type: "button", class: "copy", title: "copy the command" }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
    } catch {
      // A file on disk may not use the clipboard: select, so that one key copies.
      getSelection()?.selectAllChildren(code);
      if (!document.execCommand("copy")) return;
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
  return make("p", { class: "command" }, code, button);
}

/** Fills a list piece by piece, so that a long one does not hold up the page.
 * @param {Element} list @param {Iterator<Node>} items @param {number} count How many at a time. */
export function fill(list, items, count) {
  list.querySelector(":scope > .more")?.remove();
  for (let i = 0; i < count; i++) {
    const { value, done } = items.next();
    if (done) return;
    list.append(value);
  }
  const more = make("button", { type: "button", onclick: () => fill(list, items, count * 4) }, "show more");
  list.append(make(/** @type {any} */ (list.tagName === "OL" ? "li" : "div"), { class: "more" }, more));
}
