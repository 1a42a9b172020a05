"""When `metalog view` shows a log: `python -m benchmarks.first_look LOG...`, on a quiet machine.

Prints for each log the milliseconds from the start of the command, median and all of several
rounds, until the page in Chromium shows the first facts, the summary and everything.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import msgspec
from playwright.sync_api import Browser

from tests.browser import chromium

_METALOG = (sys.executable, "-m", "api.cli")

# The times at which a frame was drawn that shows each of them.
_WATCH = """(() => {
  window.drawn = {};
  const shown = {
    facts: "header ul.summary li:not(.muted)",
    summary: "header ul.summary[aria-label=summary]:not([aria-busy]) li:not(.muted)",
    events: "main .panel h2 small",
  };
  const look = () => requestAnimationFrame(() => {
    for (const [name, selector] of Object.entries(shown))
      if (document.querySelector(selector)) drawn[name] ??= Date.now();
  });
  const all = { subtree: true, childList: true, attributes: true };
  new MutationObserver(look).observe(document, all);
})()"""

_TIMEOUT_S = 120


class FirstLook(msgspec.Struct, frozen=True):
    """Milliseconds from the start of the command."""

    listens: float
    facts: float
    summary: float
    everything: float


def first_look(browser: Browser, log: str) -> FirstLook:
    """Start the viewer, open its page, and wait until all of it is there."""
    page = browser.new_page()
    page.add_init_script(_WATCH)
    begun = time.time() * 1_000
    command = [*_METALOG, "view", log, "--http", "127.0.0.1:0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            ready = msgspec.json.decode(process.stdout.readline())
            listens = time.time() * 1_000
            page.goto(f"http://{ready['http']}/", wait_until="commit")
            drawn: dict[str, float] = {}
            while len(drawn) < 3 and time.time() * 1_000 < begun + _TIMEOUT_S * 1_000:
                time.sleep(0.1)
                drawn = page.evaluate("window.drawn")
            assert len(drawn) == 3, f"after {_TIMEOUT_S} s only {list(drawn)} of {log} were drawn"
        finally:
            process.terminate()
    page.close()
    everything = max(drawn.values())
    found = (listens, drawn["facts"], drawn["summary"], everything)
    return FirstLook(*[each - begun for each in found])


def measure(logs: Sequence[str], rounds: int) -> None:
    """Look at the logs in turns, after a pass that warms the caches; print a line for each."""
    found: dict[str, list[FirstLook]] = {log: [] for log in logs}
    with chromium() as browser:
        for number in range(rounds + 1):
            for log in logs:
                looked = first_look(browser, log)
                if number:
                    found[log].append(looked)
    for log, looks in found.items():
        print(f"{log}, load {os.getloadavg()[0]:.1f}, ms from the start of the command:")
        for name in FirstLook.__struct_fields__:
            times = sorted(getattr(look, name) for look in looks)
            each = " ".join(f"{time:,.0f}" for time in times)
            print(f"  {name:10} {statistics.median(times):7,.0f}   ({each})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="+", metavar="LOG")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    measure(given.logs, given.rounds)
