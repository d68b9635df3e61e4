"""A headless Chromium without a network but this host, driven over its pipe; standard library."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from fcntl import F_DUPFD, fcntl

PATIENCE_S = 60.0
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost",
    "--window-size=1400,900",
)
DRAWN = """
window.drawn = [];
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function(text, ...where) {
  window.drawn.push(text);
  return fill.call(this, text, ...where);
};
"""
"""Keeps the texts that are drawn on canvases."""


def missing():
    """Why there is no browser, or nothing."""
    return "" if _program() else "chromium is not installed (Debian: apt install chromium)"


def _program():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page. `requests` and `errors` are what it has asked for, and what went wrong on it."""

    def __init__(self, profile):
        self.requests, self.errors = [], []
        self.numbers, self.rest = itertools.count(1), b""
        to_read, self.write_to = os.pipe()
        self.read_from, to_write = os.pipe()
        high = [fcntl(end, F_DUPFD, 20) for end in (to_read, to_write)]
        at_3_and_4 = ["bash", "-c", f'exec "$@" 3<&{high[0]} 4>&{high[1]}', "bash"]
        self.process = subprocess.Popen(
            [*at_3_and_4, _program(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=high,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_read, to_write, *high):
            os.close(end)
        pages = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attach = {"targetId": pages[0]["targetId"], "flatten": True}
        self.session = self.call("Target.attachToTarget", **attach)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=DRAWN)

    session = None

    def call(self, method, **params):
        """One command of the protocol; its result."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE_S
        while True:
            answer = self._message(end)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def open(self, url, until):
        """Load a page, and wait until an expression is true on it."""
        self.call("Page.navigate", url="about:blank")  # the same page again would load nothing
        self.call("Page.navigate", url=url)
        self.wait(until)

    def wait(self, until):
        end = time.monotonic() + PATIENCE_S
        while not self.ask(f"Boolean({until})"):
            assert time.monotonic() < end, (until, self.errors, self.ask("document.body.innerText"))
            time.sleep(0.05)

    def ask(self, expression):
        """What an expression is on the page; None where it fails."""
        answer = self.call("Runtime.evaluate", expression=f"({expression})", returnByValue=True)
        return answer["result"].get("value")

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.write_to)
        os.close(self.read_from)

    def _message(self, end):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read_from], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self.read_from, 1 << 20) if ready else b""
            assert data, f"chromium does not answer; its status is {self.process.poll()}"
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event.get("method") == "Network.loadingFailed" and not params.get("canceled"):
            self.errors.append(params["errorText"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
