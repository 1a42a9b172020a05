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

const IDLE_MS = 200;

/** Do something once nothing else is to be done, soon at the latest. @param {() => void} action */
export function whenIdle(action) {
  // WebKit has none.
  if ("requestIdleCallback" in window) requestIdleCallback(action, { timeout: IDLE_MS });
  else setTimeout(action, 20);
}

/** Do something once the page was painted. @param {() => void} action */
export function afterPaint(action) {
  // A page that is not seen is not painted.
  if (document.hidden) setTimeout(action);
  else requestAnimationFrame(() => setTimeout(action));
}

/** Fills a list piece by piece, so that a long one does not hold up the page. While more is to come
 * by itself the list is `aria-busy`.
 * @param {Element} list @param {Iterator<Node>} items @param {number} count How many until more are asked for.
 * @param {number} [atOnce] How many of them before the page is painted. */
export function fill(list, items, count, atOnce = count) {
  list.querySelector(":scope > .more")?.remove();
  list.removeAttribute("aria-busy");
  for (let i = 0; i < atOnce; i++) {
    const { value, done } = items.next();
    if (done) return;
    list.append(value);
  }
  const rest = count - atOnce;
  const button = make("button", { type: "button", onclick: () => fill(list, items, count * 4) }, "show more");
  const more = make(/** @type {any} */ (list.tagName === "OL" ? "li" : "div"), { class: "more" }, button);
  list.append(more);
  if (!rest) return;
  list.setAttribute("aria-busy", "true");
  // The list may be about something else by then.
  whenIdle(() => { if (more.parentNode === list) fill(list, items, rest); });
}
