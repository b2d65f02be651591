"""Chromium, and the servers whose page is tested: the stub, and `verbatim serve` where the program has it. Not a test."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import BINARY, NANO, SLOWDOWN, SOURCE  # noqa: E402,F401

SKIPPED = 77  # what ctest counts as skipped (cmake/VerbatimPythonTests.cmake)
WAIT_MS = 20_000 * SLOWDOWN


def skip_all(reason):
    print(f"skipped: {reason}", flush=True)
    sys.exit(SKIPPED)


try:
    from playwright.sync_api import expect, sync_playwright
except ImportError as error:
    skip_all(f"{error}; tools/python_env.sh makes the environment that has it")
CHROMIUM = os.environ.get("VERBATIM_CHROMIUM") or shutil.which("chromium")
if CHROMIUM is None:
    skip_all("no chromium; tools/setup.sh clients installs it")
expect.set_options(timeout=WAIT_MS)


def has_serve():
    if not pathlib.Path(BINARY).exists():
        return False
    listed = subprocess.run([BINARY, "help"], capture_output=True, text=True, check=False).stdout
    return re.search(r"^\s*serve\b", listed, re.MULTILINE) is not None


class ServedModel:
    """`with ServedModel() as server`: the program itself on a free port; server.url."""

    def __init__(self, *arguments, model=NANO):
        self.arguments, self.model = arguments, model

    def __enter__(self):
        self.process = subprocess.Popen([BINARY, "serve", "-m", self.model, "--port", "0", *self.arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seen = []
        for line in self.process.stdout:
            seen.append(line)
            address = re.search(r"http://[0-9.]+:[0-9]+", line)
            if address:
                self.url = address[0] + "/"
                # Nobody reads its log; it must not wait for that.
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return self
        raise AssertionError(f"serve ended with {self.process.wait()}: {''.join(seen)}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60 * SLOWDOWN)


class BrowserTest(unittest.TestCase):
    """One Chromium for a class; a page of its own for each test, which must not complain about anything."""

    allowed_messages = "Failed to load resource"  # what Chromium says of each refusal that a test provokes

    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        cls.addClassCleanup(cls.browser.close)

    def open_page(self, url, **options):
        options = {"viewport": {"width": 1280, "height": 800}, **options}
        context = self.browser.new_context(**options)
        context.set_default_timeout(WAIT_MS)
        self.addCleanup(context.close)
        page = context.new_page()
        self.complaints = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(message.text)
                if message.type in ("error", "warning") and self.allowed_messages not in message.text else None)
        page.on("request", lambda request: self.complaints.append(f"asked {request.url}")
                if not request.url.startswith((url, "blob:")) else None)
        page.goto(url)
        expect(page.locator("#model")).not_to_be_empty()
        self.addCleanup(lambda: self.assertEqual(self.complaints, []))
        return page

    @staticmethod
    def ask(page, text="Tell me a story.", wait=True):
        """The last answer's article, whole unless not waited for."""
        page.fill("#prompt", text)
        page.press("#prompt", "Enter")
        answer = page.locator(".answer").last
        if wait:
            expect(answer).to_have_attribute("aria-busy", "false")
        return answer
