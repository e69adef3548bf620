"""Take the pictures of the console anew, from the demo.

    python benchmarks/console_pictures.py

It needs Chromium, and what `make install` brings. The demo has a ledger of its own, in a temporary
folder, and the audit of sessions that nobody had; `docs/pictures/console-*.png` are replaced. Look
at them before you commit them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from interlock.service.audits import AuditFolder

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

PICTURES: Final = Path(__file__).parents[1] / "docs" / "pictures"
WIDE: Final = ViewportSize(width=1280, height=800)
PHONE: Final = ViewportSize(width=390, height=844)
AT_WORK_MS: Final = 40_000


def main() -> None:
    """Start the demo, let it work for a while, and look at it."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        places = dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"), folder)
        environment = {**os.environ, **places, "LOGNAME": "ada"}
        from console.audit_scenes import an_audit  # noqa: PLC0415 - its place was named just now

        AuditFolder(Path(folder) / "interlock" / "audits").keep(an_audit())
        command = [sys.executable, "-m", "interlock", "serve", "--demo", "--port=0", "--json"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            started = json.loads(server.stdout.readline())
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            try:
                take(browser, started["link"], started["url"])
            finally:
                browser.close()
                server.terminate()


def take(browser: Browser, link: str, url: str) -> None:
    """Take every picture; the link opens once, what it gives serves for all of them."""
    first = browser.new_context()
    page = first.new_page()
    page.goto(link)
    page.wait_for_timeout(AT_WORK_MS)
    cookies = first.storage_state()
    page.goto(f"{url}/inbox")
    question = page.get_by_role("link", name="git push --force").first.get_attribute("href")
    page.goto(url)
    run = page.get_by_role("link", name="CSV importer").first.get_attribute("href")
    for name, path, size in (
        ("console-overview", "/", WIDE),
        ("console-inbox", question, WIDE),
        ("console-run-dark", run, WIDE),
        ("console-audit", "/audit", WIDE),
        ("console-phone", question, PHONE),
    ):
        context = browser.new_context(
            viewport=size,
            color_scheme="dark" if name.endswith("dark") else "light",
            storage_state=cookies,
        )
        page = context.new_page()
        page.goto(f"{url}{path}")
        page.locator("[data-live]").get_by_text("live").wait_for(state="attached")
        page.screenshot(path=PICTURES / f"{name}.png")
        page.goto("about:blank")
        context.close()
    first.close()


if __name__ == "__main__":
    main()
