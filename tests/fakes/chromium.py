"""A real browser without a window, for what a person does with mouse and keyboard."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

#: The shell has no windows to draw and takes a third of the processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
#: As root in a container it cannot make its sandbox; and it is to know no host but this machine.
OPTIONS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE = 30_000  # milliseconds until a page that hangs fails its test


@asynccontextmanager
async def open_chromium():
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        yield browser
        await browser.close()


def expect(there):
    """Playwright's own, which is imported in the process of tests that draws."""
    from playwright.async_api import expect

    return expect(there)


async def opened(chromium, **options):
    """A tab, and what went wrong in it: requests elsewhere, and what the browser complains about."""
    tab = await (await chromium.new_context(**options)).new_page()
    tab.set_default_timeout(PATIENCE)
    faults = []
    tab.on(
        "request",
        lambda sent: faults.append(sent.url) if urlsplit(sent.url).hostname != "127.0.0.1" else None,
    )
    tab.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: faults.append(str(error)))
    return tab, faults


async def entered(chromium, desk, name="Ann", **options):
    """Somebody who came in with a link of theirs."""
    tab, faults = await opened(chromium, **options)
    await tab.goto(f"{desk.url}/enter/{await desk.sessions.make_link('editor', name=name)}")
    await tab.get_by_role("button", name="Enter").click()
    await tab.wait_for_url(f"{desk.url}/")
    await tab.goto(f"{desk.url}/ask")
    return tab, faults


LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
#: Only violations are told in full: to write the rest down takes longer than to look for it.
AUDIT = {"runOnly": {"type": "tag", "values": LEVELS}, "resultTypes": ["violations"]}


async def audited(tab, *looks):
    """What axe finds wrong in a page in each look, a colour scheme and a width; and whether the page is too wide.

    The page is loaded once: a look changes how it is drawn, not what stands in it.
    """
    from axe_playwright_python.async_playwright import Axe

    await tab.evaluate(Axe().axe_script)
    found = {}
    for scheme, width in looks:
        await tab.emulate_media(color_scheme=scheme)
        await tab.set_viewport_size({"width": width, "height": 800})
        violations = await tab.evaluate("async (how) => (await axe.run(how)).violations", AUDIT)
        found |= {(scheme, width, each["id"]): each["nodes"][0]["html"] for each in violations}
        if await tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found[scheme, width, "too wide"] = tab.url
    return found
