// Makes elements of the page, and runs actions later.

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, any>} [properties] Names that begin with `on` are event handlers; all others are attributes.
 * @param {...(Node|string|null)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    // A style attribute would be inline style, which the served page does not allow.
    else if (name === "style") element.style.cssText = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A command line with a button that copies it. @param {string} command */
export function commandLine(command) {
  const code = make("code", { tabindex: "0" }, command);
  const button = make("button", { type: "button", class: "copy", title: "copy the command" }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
    } catch {
      // A page loaded from a file may not use the clipboard: select the text, so that one key copies it.
      getSelection()?.selectAllChildren(code);
      if (!document.execCommand("copy")) return;
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
  return make("div", { class: "command", role: "group", "aria-label": "the command that gives the same" }, code, button);
}

const IDLE_MS = 200;

/** Run an action when the browser is idle, after 200 ms at the latest. @param {() => void} action */
export function whenIdle(action) {
  // WebKit does not have requestIdleCallback.
  if ("requestIdleCallback" in window) requestIdleCallback(action, { timeout: IDLE_MS });
  else setTimeout(action, 20);
}

/** Run an action after the page is next painted. @param {() => void} action */
export function afterPaint(action) {
  // A hidden page is not painted.
  if (document.hidden) setTimeout(action);
  else requestAnimationFrame(() => setTimeout(action));
}

/** Fill a list in steps, so that a long one does not block the page. The list is `aria-busy` until
 * the first `count` items are in it; a button adds more.
 * @param {Element} list @param {Iterator<Node>} items @param {number} count Number of items added without pressing the button.
 * @param {number} [atOnce] Number of items added before the page is painted. */
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
  const more = make(/** @type {any} */ (/^[OU]L$/.test(list.tagName) ? "li" : "div"), { class: "more" }, button);
  list.append(more);
  if (!rest) return;
  list.setAttribute("aria-busy", "true");
  // The list may have been filled with other items meanwhile.
  whenIdle(() => { if (more.parentNode === list) fill(list, items, rest); });
}
