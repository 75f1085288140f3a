"""Walks through the operators' page in a browser, and stops with the first promise that doesn't hold.

    main.py PROGRAM FOLDER [SCREENSHOTS]

PROGRAM is `errand`, FOLDER takes logs, SCREENSHOTS the pictures of docs/page.md. ERRAND_CLUSTER_URL is the server.
"""

import os
import sys
from pathlib import Path

import attacks
import walks
from browser import Browser
from shop import PASSWORD, Shop

SHAPES = [("light", "light", 1280), ("dark", "dark", 1280), ("phone", "light", 375)]
PAGES = ["/", "/jobs", "/batches", "/failures", "/schedules", "/workers", "/limits", "/audit"]


def check_page(browser, address, name, screenshots):
    """A page in light, dark and phone width, and its pictures."""
    for shape, scheme, width in SHAPES:
        browser.display(scheme, width, 812 if width < 600 else 900)
        browser.open(address)
        found = browser.violations()
        assert found == [], f"{name} {shape}: " + "\n".join(found)
        assert browser.overflow() <= 0, f"{name} {shape} is {browser.overflow()} px too wide"
        if screenshots:
            browser.shoot(screenshots / f"{name}-{shape}.webp")


def check_cells(shop, screenshots):
    """Several databases: which one is away, and the pages of each behind one log-in."""
    with Browser() as browser:
        browser.log_in(shop.cells_site, "alice", PASSWORD)
        check_page(browser, shop.cells_site + "/", "cells", screenshots)
        browser.display()
        walks.cells(shop, browser)
        for page in PAGES:
            browser.open(shop.cells_site + "/cells/2" + page)
            assert browser.violations() == [], (page, browser.violations())
        assert browser.complaints == [], browser.complaints


def check_pages(shop, screenshots):
    """Every page, in light and dark and on a phone: no violation, no complaint, nothing wider than the screen."""
    job = shop.psql("select id from errand.failed where kind = 'send_mail' order by finished_at desc limit 1")
    step = shop.psql("select id from errand.failed where kind = 'check_articles'")
    batch = shop.psql("select id from errand.batches where state = 'open' order by id limit 1")
    pages = PAGES + [f"/jobs/{job}", f"/jobs/{step}/flow", f"/batches/{batch}"]
    with Browser() as browser:
        browser.open(shop.site + "/")
        assert "Log in" in browser.text()
        for scheme in ("light", "dark"):
            browser.display(scheme)
            assert browser.violations() == [], browser.violations()
        browser.log_in(shop.site, "alice", PASSWORD)
        browser.open(shop.site + "/failures")
        browser.press("Retry them…")
        retry = browser.driver.current_url.removeprefix(shop.site)
        pages += [retry + "&per_minute=10", retry.replace("/retry?", "/discard?")]
        for page in pages:
            name = page.split("?")[0].strip("/").replace("/", "-") or "overview"
            name = name.split("-")[-1] if name.endswith("-flow") else "job" if name.startswith("jobs-") else name
            name = "batch" if name.startswith("batches-") else name
            check_page(browser, shop.site + page, name, screenshots)
        browser.display("dark", 375, 812)
        waiting = shop.psql("select id from errand.jobs where kind in ('refund', 'month_report')").split()
        undo = shop.psql("select max(id) from errand.audit where action = 'pause_schedule'")
        more = [f"/jobs/{job}" for job in [step, *waiting]] + [f"/audit/{undo}/undo"]
        more += [f"/batches/{batch}/cancel", f"/batches/{batch}/retry", f"/jobs?batch={batch}"]
        for page in pages + more:
            browser.open(shop.site + page)
            assert browser.violations() == [], (page, browser.violations())
        assert browser.complaints == [], browser.complaints
    return len(pages)


def main():
    program, folder = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).absolute()
    screenshots = Path(sys.argv[3]).absolute() if len(sys.argv) > 3 else None
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
    with Shop(program, os.environ["ERRAND_CLUSTER_URL"], folder) as shop:
        walks.warm_up(shop)
        print(f"{check_pages(shop, screenshots)} pages in light, dark and phone width: "
              "0 violations, 0 complaints of the console, nothing too wide")
        check_cells(shop, screenshots)
        print("several cells, one of them away: each has its pages, and what is done reaches it alone")
        for scripts in (True, False):
            with Browser(scripts=scripts) as browser:
                walks.everything(shop, browser)
                assert browser.complaints == [], browser.complaints
            print("found, explained, edited, retried, approved, drained, limited, paused, retried and discarded in groups "
                  "and batches, undone"
                  + ("" if scripts else ", without scripts too"))
        walks.read_only(shop)
        walks.keyboard(shop)
        walks.refreshes(shop)
        print("read-only without a log-in; usable by keyboard; refreshed without disturbing anybody")
        attacks.everything(shop)
        print("hostile texts in every field: none ran, on any page")
    attacks.logs(shop)
    print("no secret in any log")


if __name__ == "__main__":
    main()
