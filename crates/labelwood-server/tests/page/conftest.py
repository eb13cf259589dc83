"""A headless Chromium, a stand-in of the server, and pages in which nothing may go wrong unseen."""

import os
import shutil

import pytest
from playwright.sync_api import sync_playwright
from stand_in import StandIn

TEXT = "Who lived in our house before the war? My grandmother was born in this town, and the old mill was built by hers."
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WATCH = """
addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""


@pytest.fixture(scope="session")
def browser():
    program = os.environ.get("LABELWOOD_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("there is no Chromium here")
    with sync_playwright() as playwright:
        # Root, as in a container, gets no sandbox from the system.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.getuid() == 0 else [])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def the_server():
    return StandIn()


@pytest.fixture
def server(the_server):
    the_server.reset()
    return the_server


class Visitor:
    """Opens pages, and collects what goes wrong in them."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self.wrong, self.contexts = [], []

    def open(self, fragment="", width=1280, height=860, **options):
        context = self.browser.new_context(viewport={"width": width, "height": height}, permissions=["clipboard-read", "clipboard-write"], **options)
        context.set_default_timeout(10_000)
        self.contexts.append(context)
        page = context.new_page()
        page.add_init_script(WATCH)
        page.on("pageerror", lambda error: self.wrong.append(f"{error}"))
        page.on("console", self.heard)
        page.on("request", lambda request: self.requested(request.url))
        page.goto(self.address + fragment)
        page.wait_for_selector("nav a[aria-current], dialog, .trouble, .asking, .busy")
        return page

    def heard(self, message):
        # That a call was refused is what some tests want.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.wrong.append(message.text)

    def requested(self, address):
        if not address.startswith((self.address, "data:", "blob:")):
            self.wrong.append(f"asked for {address}")

    def ask(self, text=TEXT, **options):
        """A page with suggestions for a text."""
        page = self.open(**options)
        page.fill("#text", text)
        page.click("text=Suggest labels")
        page.wait_for_selector(".suggestion")
        return page


@pytest.fixture
def visitor(browser, server):
    visitor = Visitor(browser, server.address)
    yield visitor
    for context in visitor.contexts:
        context.close()
    assert visitor.wrong == []
