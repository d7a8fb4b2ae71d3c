"""Check of the layout of the built pages in a browser: ``python docs/check_browser.py docs/_build/html``.

Chromium opens all pages. At 1280 pixels no code, table, formula or picture may be wider than its box; at 400
they may scroll inside their boxes, but the page itself may not. No page may send requests to other sites, raise
an error, or leave a formula as TeX. ``--pictures FOLDER`` writes screenshots, and ``--pages`` selects pages by
name.

The script communicates with Chromium through a pipe (the DevTools protocol), without other dependencies. Without
Chromium it prints a message and succeeds; with ``--must`` it fails.
"""

import argparse
import base64
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DESKTOP, PHONE = 1280, 400
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

#: Script that returns the elements that are too wide at the current width, with their excess in pixels.
CUT = """
(async () => {
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  await Promise.all([...document.images].map(image => {
    image.loading = "eager";
    return image.decode().catch(() => null);
  }));
  const page = document.documentElement;
  const found = {page: page.scrollWidth - page.clientWidth, tex: 0, boxes: []};
  for (const formula of document.querySelectorAll(".math"))
    if (!formula.querySelector("mjx-container") || formula.querySelector("[data-mml-node=merror]")) found.tex += 1;
  const article = document.querySelector("article") || document.body;
  const right = article.getBoundingClientRect().right;
  const boxes = "pre, table, .math, mjx-container, img, dt.sig, .pst-scrollable-table-container";
  for (const box of article.querySelectorAll(boxes)) {
    if (!box.getClientRects().length) continue;
    const outside = box.getBoundingClientRect().right - right;
    const inline = box.tagName == "IMG" || box.closest("span.math") != null;
    const excess = inline ? outside : Math.max(outside, box.scrollWidth - box.clientWidth);
    const text = (box.alt || box.innerText || "").trim().slice(0, 70);
    if (excess > 1.5) found.boxes.push([Math.round(excess), box.tagName.toLowerCase(), text]);
  }
  return JSON.stringify(found);
})()
"""


class Browser:
    """Headless Chromium with one tab, connected by a pipe.

    Parameters
    ----------
    command : str
        Path of the program.
    """

    def __init__(self, command: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        browser_in, self._out = os.pipe()
        self._in, browser_out = os.pipe()
        options = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"]
        options += ["--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage"]
        self._process = subprocess.Popen(
            [
                *("bash", "-c", f'exec "$0" "$@" 3<&{browser_in} 4>&{browser_out}', command),
                *(*options, f"--user-data-dir={self._profile.name}", "about:blank"),
            ],
            pass_fds=(browser_in, browser_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(browser_in)
        os.close(browser_out)
        self._rest, self._number, self._session, self.events = b"", 0, None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.ask(f"{domain}.enable")

    def close(self) -> None:
        """Stop the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def ask(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol, and store events that arrive before the result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)
        raise RuntimeError("Chromium has ended")

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" not in self._rest:
                block = os.read(self._in, 1 << 20)
                if not block:
                    return
                self._rest += block
            text, self._rest = self._rest.split(b"\0", 1)
            yield json.loads(text)

    def open(self, address: str) -> list[dict[str, Any]]:
        """Load a page and return the events."""
        self.events = []
        self.ask("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(next(self._messages()))
        return self.events

    def width(self, pixels: int, height: int = 900) -> None:
        """Set the size of the window."""
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=pixels, height=height, deviceScaleFactor=1, mobile=False
        )

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, or of its promise."""
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        return answer["result"].get("value")

    def picture(self, path: Path, max_height: int = 12_000) -> None:
        """Write a screenshot of the whole page."""
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("document.documentElement.clientWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, max_height), "scale": 1}
        answer = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(answer["data"]))


def find_browser() -> str | None:
    """Return the path of the program, or None."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def pages_of(folder: Path, patterns: list[str]) -> list[Path]:
    """Return the pages of a folder in order, without the templates of the theme in _static."""
    pages = [page for page in sorted(folder.rglob("*.html")) if "_static" not in page.relative_to(folder).parts]
    names = {page: page.relative_to(folder).as_posix() for page in pages}
    return [page for page in pages if any(fnmatch.fnmatch(names[page], pattern) for pattern in patterns)]


def check_page(browser: Browser, page: Path) -> list[str]:
    """Return the faults of a page."""
    browser.width(DESKTOP)
    events = browser.open(page.as_uri())
    faults = []
    measurements = {}
    for width in (DESKTOP, PHONE):
        browser.width(width)
        measurements[width] = json.loads(browser.evaluate(CUT))
        if measurements[width]["page"] > 1:
            faults.append(f"the page is {measurements[width]['page']} pixels too wide at {width}")
    for excess, tag, text in measurements[DESKTOP]["boxes"]:
        faults.append(f"{tag} is {excess} pixels too wide at {DESKTOP}: {' '.join(text.split())!r}")
    if measurements[DESKTOP]["tex"]:
        faults.append(f"{measurements[DESKTOP]['tex']} formulas are not drawn")
    return faults + faults_of_events(events + browser.events)


def faults_of_events(events: list[dict[str, Any]]) -> list[str]:
    """Return requests to other sites, and errors of scripts."""
    faults = set()
    for event in events:
        if event.get("method") == "Network.requestWillBeSent":
            address = event["params"]["request"]["url"]
            if not address.startswith(("file:", "data:", "blob:", "about:")):
                faults.add(f"requests {address}")
        elif event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            faults.add(f"error: {details.get('exception', {}).get('description', details['text'])[:100]}")
    return sorted(faults)


def main() -> int:
    """Print the faults of all pages, and return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the built pages")
    parser.add_argument("--pages", nargs="*", default=["*"], help="patterns of names, such as 'guide/*'")
    parser.add_argument("--pictures", type=Path, help="write screenshots to this folder")
    parser.add_argument("--dark", action="store_true", help="use dark mode")
    parser.add_argument("--must", action="store_true", help="fail if there is no browser")
    arguments = parser.parse_args()
    command = find_browser()
    if command is None:
        print(f"No browser found, so the layout is not checked. Install one of {', '.join(BROWSERS)}.")
        return int(arguments.must)
    folder = arguments.folder.resolve()
    pages = pages_of(folder, arguments.pages)
    if not pages:
        print(f"{folder} has no such pages. Build them first.")
        return 1
    browser = Browser(command)
    n_faults = 0
    try:
        if arguments.dark:
            browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        for page in pages:
            name = page.relative_to(folder).as_posix()
            faults = check_page(browser, page)
            n_faults += len(faults)
            print(*(f"{name}: {fault}" for fault in faults), sep="\n", end="\n" if faults else "", flush=True)
            if arguments.pictures:
                arguments.pictures.mkdir(parents=True, exist_ok=True)
                for width in (PHONE, DESKTOP):
                    browser.width(width)
                    file = f"{name.removesuffix('.html').replace('/', '.')}.{width}.png"
                    browser.picture(arguments.pictures / file)
    finally:
        browser.close()
    print(f"{len(pages)} pages in {Path(command).name} at {DESKTOP} and {PHONE} pixels, faults: {n_faults}")
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
