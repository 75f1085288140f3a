"""What operators do on the page."""

import time

from browser import Browser
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from shop import PASSWORD


def warm_up(shop):
    """Some jobs of a real worker, one of them failing for good."""
    shop.psql("select errand.enqueue('noop', '{\"sleep_ms\": 5}') from generate_series(1, 40)")
    shop.psql("select errand.enqueue('noop', '{\"sleep_ms\": 600000}', queue => 'images')")
    fail(shop)
    shop.wait(lambda: shop.psql("select count(*) from errand.job where state = 'running'") == "1", "a job runs")


def fail(shop):
    """A job that a real worker fails. Returns its id."""
    job = shop.psql(
        "select job_id from errand.enqueue('noop', '{\"fail\": \"permanent\", \"note\": 17, \"password\": \"never-to-be-shown\"}')")
    shop.wait(lambda: shop.psql(f"select count(*) from errand.failed where id = {job}") == "1", "the job fails")
    return job


def fill(browser, field, text):
    end = time.monotonic() + 15
    while time.monotonic() < end:
        for element in browser.all(f"main [name={field}]"):
            if element.is_displayed():
                element.clear()
                element.send_keys(text)
                return
        time.sleep(0.1)
    raise AssertionError(f"no field {field} is shown")


def everything(shop, browser):
    browser.log_in(shop.site, "alice", PASSWORD)
    find_edit_and_retry(shop, browser)
    approve(shop, browser)
    follow_a_flow(shop, browser)
    drain(shop, browser)
    retry_a_group(shop, browser)
    change_a_batch(shop, browser)
    undo(shop, browser)
    set_key_rate(shop, browser)
    limit_and_pause(shop, browser)
    discard_a_group(shop, browser)
    browser.press("Log out", within="header")
    browser.see("Password or token")


def find_edit_and_retry(shop, browser):
    """A failed job is found by its error, explained, edited and retried by clicking."""
    job = fail(shop)
    browser.press("Jobs", within="header")
    fill(browser, "error", "asked to fail")
    browser.press("Show")
    browser.press(job)
    browser.see("asked to fail: permanent", "failed", "••••••••")
    assert "never-to-be-shown" not in browser.driver.page_source, "a secret is shown"
    browser.press("Edit the payload")
    browser.see("Payload (JSON)")
    area = browser.find("#r-payload")
    payload = area.get_attribute("value")
    area.clear()
    area.send_keys(payload.replace('"permanent"', "null").replace("17", "18"))
    fill(browser, "reason", "the note was wrong")
    browser.press("Save and retry")
    browser.see("the job waits to run again")
    shop.wait(lambda: shop.psql(f"select state from errand.history where id = {job}") == "succeeded", "it succeeds")
    kept = shop.psql(f"select payload ->> 'password', payload ->> 'note' from errand.history where id = {job}")
    assert kept == "never-to-be-shown|18", kept
    who = shop.psql(
        f"select string_agg(action || ' ' || person || ' ' || acting_as || ' ' || (request is not null), ',' order by id) "
        f"from errand.audit where job_ids @> '{{{job}}}'")
    assert who == "edit_job alice errand_ops true,retry alice errand_ops true", who
    browser.open(f"{shop.site}/jobs/{job}")
    browser.see("What operators did", "the note was wrong")


def approve(shop, browser):
    """A job that waits for an approval gets it from its page."""
    job = shop.psql("select job_id from errand.enqueue('refund', queue => 'reports')")
    shop.psql("select errand_internal.wait_for_signal(job, jsonb_build_object('for', 'approval/' || id), "
              f"now() + interval '1 day') from errand.job where id = {job}")
    browser.open(f"{shop.site}/jobs/{job}")
    browser.see("waits_for_signal", f"approval/{job}")
    browser.press("Approve")
    fill(browser, "reason", "the customer is right")
    browser.press("Send the signal")
    browser.see("The signal is sent", "available", "the customer is right")
    sent = shop.psql(f"select payload from errand.signal where name = 'approval/{job}'")
    assert sent == '{"approved": true}', sent


def follow_a_flow(shop, browser):
    """From a job that waits to the drawing of its flow, and there to the job that failed."""
    job = shop.psql("select id from errand.jobs where kind = 'month_report'")
    browser.open(f"{shop.site}/jobs/{job}")
    browser.press("Show the whole flow")
    browser.see(f"Flow of job {job}", "2 steps before")
    assert len(browser.all(".graph a")) == 8
    failed = next(node for node in browser.all(".graph a") if "failed" in node.get_attribute("aria-label"))
    failed.click()
    browser.see("the warehouse does not answer", "Jobs that wait for it")


def drain(shop, browser):
    """A worker is drained and claims again, by clicking."""
    browser.press("Workers", within="header")
    browser.press("Drain…")
    fill(browser, "reason", "its host restarts")
    browser.press("Drain")
    browser.see("The worker claims nothing more", "drained", "its host restarts")
    assert shop.psql("select count(*) from errand.workers where drained_at is not null") == "1"
    browser.press("Claim again…")
    browser.press("Claim again")
    browser.see("The worker claims again")
    assert shop.psql("select count(*) from errand.workers where drained_at is not null") == "0"


def retry_a_group(shop, browser):
    """Similar failures are shown together, dry-run, and retried at a pace."""
    for _ in range(3):
        fail(shop)
    failed = shop.psql("select count(*) from errand.failed where kind = 'noop'")
    browser.press("Failures", within="header")
    browser.see("The last 5,000 failures")
    group = next(card for card in browser.all("main li.card") if "asked to fail" in card.text)
    group.find_element(By.PARTIAL_LINK_TEXT, "Retry them").click()
    fill(browser, "per_minute", "2")
    browser.press("Dry run")
    browser.see(f"{failed} jobs would wait again, 2 a minute")
    assert shop.psql("select count(*) from errand.failed where kind = 'noop'") == failed, "a dry run changed something"
    fill(browser, "reason", "the service is back")
    browser.press(f"Retry {failed} jobs")
    browser.see("wait to run again")
    assert int(shop.psql("select count(*) from errand.job where kind = 'noop' and run_at > now()")) >= int(failed) - 1
    shop.psql("select errand.cancel_where('{\"kind\": \"noop\", \"state\": \"scheduled\"}', 'cleared', dry_run => false)")


def change_a_batch(shop, browser):
    """What is left of a batch is cancelled and retried, each after a dry run."""
    batch = shop.psql("select errand.batch_open('letters', on_finish => '{\"kind\": \"noop\"}')")
    shop.psql(f"select errand.enqueue('letter', queue => 'reports', batch => {batch}) from generate_series(1, 3)")
    waiting = f"select state || ' ' || waiting from errand.batch_status({batch})"
    browser.press("Batches", within="header")
    browser.press(batch)
    browser.see("letters", "0 %", "open", "When all have ended: noop not yet")
    browser.press("Cancel what is left…")
    browser.see("3 jobs would be cancelled", "it is closed first")
    assert shop.psql(waiting) == "open 3", "a dry run changed something"
    fill(browser, "reason", "another text")
    browser.press("Cancel 3 jobs")
    browser.see("3 jobs are cancelled", "100 %")
    assert shop.psql(waiting).endswith(" 0")
    browser.press("Retry what failed or was cancelled…")
    browser.see("3 jobs would wait again")
    fill(browser, "reason", "the old text")
    browser.press("Retry 3 jobs")
    browser.see("3 jobs wait to run again", "Cancel what is left")
    assert shop.psql(waiting).endswith(" 3")
    browser.press("available")
    browser.see("letter")
    browser.press(shop.psql(f"select max(last_id) from errand.batch_jobs where batch_id = {batch}"))
    browser.press(batch)
    browser.see("letters")


def undo(shop, browser):
    """The last action is taken back from the audit, after a dry run."""
    browser.press("Audit", within="header")
    browser.see("batch_retry", "the old text")
    row = browser.find("main tbody tr")
    assert "batch_retry" in row.text, row.text
    row.find_element(By.PARTIAL_LINK_TEXT, "Undo").click()
    browser.see("batch_retry by alice", "3 changes would be taken back", "What would go back")
    letters = "select count(*) from errand.jobs where kind = 'letter' and state = 'cancelled'"
    was = int(shop.psql(letters))
    fill(browser, "reason", "nobody reads them")
    browser.press("Undo 3 changes")
    browser.see("3 changes are taken back", "nobody reads them")
    assert int(shop.psql(letters)) == was + 3


def set_key_rate(shop, browser):
    """The rate of a key is set, changed and removed."""
    browser.press("Limits", within="header")
    browser.press("Set the rate of a key…")
    fill(browser, "name", "sender/9")
    fill(browser, "allowed", "20")
    fill(browser, "per", "1 minute")
    fill(browser, "burst", "4")
    fill(browser, "reason", "their contract")
    browser.press("Set the rate")
    browser.see("The rate of the key is set", "sender/9", "20 in 00:01:00, 4 at once")
    act(browser, "sender/9")
    fill(browser, "allowed", "40")
    fill(browser, "reason", "a better one")
    browser.press("Set the rate")
    browser.see("The rate of the key is set", "40 in 00:01:00, 4 at once")
    act(browser, "sender/9")
    fill(browser, "reason", "it has ended")
    browser.press("Remove the rate")
    browser.see("The rate of the key is removed")
    assert shop.psql("select count(*) from errand.key_rate where rate_key = 'sender/9'") == "0"


def set_limit(browser, key, reason):
    browser.press("Limits", within="header")
    browser.press("Set a limit…")
    fill(browser, "name", key)
    fill(browser, "allowed", "3")
    fill(browser, "reason", reason)
    browser.press("Set the limit")
    browser.see("The limit is set", key, "3 at once")


def limit_and_pause(shop, browser):
    """A limit and a rate are set and removed, a kind is paused and resumed, each with a reason."""
    set_limit(browser, "customer/7", "their contract")
    act(browser, "customer/7")
    fill(browser, "reason", "it has ended")
    browser.press("Remove the limit")
    browser.see("The limit is removed")
    browser.press("Set a rate…")
    fill(browser, "name", "images")
    fill(browser, "allowed", "30")
    fill(browser, "per", "1 minute")
    fill(browser, "reason", "the disk is slow")
    browser.press("Set the rate")
    browser.see("The rate is set", "30 in 00:01:00")
    act(browser, "images")
    fill(browser, "reason", "a new disk")
    browser.press("Remove the rate")
    browser.see("The rate is removed")
    browser.press("Pause a kind…")
    fill(browser, "name", "noop")
    fill(browser, "reason", "its text is wrong")
    browser.press("Pause")
    browser.see("The kind is paused", "kind noop", "its text is wrong")
    act(browser, "kind noop")
    fill(browser, "reason", "the text is right")
    browser.press("Resume the kind")
    browser.see("The kind runs again")
    reasons = shop.psql(
        "select string_agg(action || ': ' || reason, ', ' order by id) from (select * from errand.audit "
        "where person = 'alice' order by id desc limit 6) as latest")
    assert reasons == ("set_limit: their contract, set_limit: it has ended, set_rate: the disk is slow, "
                       "set_rate: a new disk, pause_kind: its text is wrong, resume_kind: the text is right"), reasons


def cells(shop, browser):
    """One of three databases is away; what is done in the second reaches it alone, by the name of who did it."""
    browser.open(shop.cells_site + "/")
    browser.see("127.0.0.1:1/away", "down", "The other cells go on")
    link = next(link for link in browser.all("main tbody a") if link.text.endswith("/second"))
    link.click()
    browser.see("Queues")
    assert browser.driver.current_url == shop.cells_site + "/cells/2/", browser.driver.current_url
    set_limit(browser, "customer/8", "only here")
    assert "/cells/2/" in browser.driver.current_url, browser.driver.current_url
    done = "select string_agg(person || ': ' || reason, ',') from errand.audit where action = 'set_limit'"
    assert shop.psql(done, url=shop.second_url) == "alice: only here"
    assert shop.psql(done) == "", shop.psql(done)
    browser.open(shop.cells_site + "/cells/3/")
    browser.see("127.0.0.1:1/away")
    browser.complaints = [one for one in browser.complaints if "/cells/3/" not in one]
    browser.press("Cells", within="header")
    browser.see("The other cells go on")


def act(browser, name):
    """Opens the actions in the row of that name."""
    row = next(row for row in browser.all("main tbody tr") if row.find_element(By.TAG_NAME, "th").text == name)
    row.find_element(By.TAG_NAME, "summary").click()


def discard_a_group(shop, browser):
    """Similar failures are dry-run, and discarded with a reason."""
    for _ in range(2):
        fail(shop)
    failed = int(shop.psql("select count(*) from errand.failed where kind = 'noop'"))
    browser.press("Failures", within="header")
    group = next(card for card in browser.all("main li.card") if "asked to fail" in card.text)
    group.find_element(By.PARTIAL_LINK_TEXT, "Discard them").click()
    browser.see(f"{failed} jobs would be given up")
    assert int(shop.psql("select count(*) from errand.failed where kind = 'noop'")) == failed, "a dry run did something"
    fill(browser, "reason", "nobody needs them")
    browser.press(f"Discard {failed} jobs")
    browser.see(f"{failed} jobs are discarded")
    assert shop.psql("select count(*) from errand.failed where kind = 'noop'") == "0"
    # Another group's failures go in the background, which is what the page offers for more than 10,000.
    shop.psql("select errand.start_bulk('discard', '{\"kind\": \"nothing_of_the_kind\"}', 'old')")
    browser.press("Failures", within="header")
    browser.see("In the background", "nothing_of_the_kind")


def read_only(shop):
    """Without a log-in there is no content and no action."""
    job = fail(shop)
    with Browser() as browser:
        batch = shop.psql("select min(id) from errand.batch where properties is not null")
        for page in ["/", "/jobs", f"/jobs/{job}", "/batches", f"/batches/{batch}", "/failures", "/schedules", "/workers", "/limits", "/audit"]:
            browser.open(shop.open_site + page)
            assert browser.all("main form[method=post]") == [], page
            assert "asked to fail" not in browser.driver.page_source, page
            assert "not-for-anybodys-eyes" not in browser.driver.page_source, page
        assert browser.complaints == [], browser.complaints


def keyboard(shop):
    """The first tab is the link to the content, and every control can be reached and is seen to have the focus."""
    with Browser() as browser:
        browser.log_in(shop.site, "alice", PASSWORD)
        browser.open(shop.site + "/workers")
        find = "return document.activeElement"
        body = browser.find("body")
        body.send_keys(Keys.TAB)
        first = browser.driver.execute_script(find)
        assert first.text == "Skip to the content" and first.is_displayed()
        wanted = browser.driver.execute_script(
            "return [...document.querySelectorAll('a[href], button, summary, input:not([type=hidden]), select, textarea')]"
            ".filter((one) => one.checkVisibility()).length")
        seen = set()
        for _ in range(wanted + 20):
            element = browser.driver.execute_script(find)
            if element.tag_name == "body" and seen:
                break
            outline = browser.driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"no focus is seen at {element.get_attribute('outerHTML')[:100]}"
            seen.add(element.id)
            element.send_keys(Keys.TAB)
        assert len(seen) >= wanted, f"{len(seen)} of {wanted} controls are reached"


def refreshes(shop):
    """New numbers come by themselves; an open form and its text stay."""
    with Browser() as browser:
        browser.log_in(shop.site, "alice", PASSWORD)
        browser.open(shop.site + "/workers")
        was = browser.find("[data-asof]").text
        shop.wait(lambda: browser.find("[data-asof]").text != was, "the page is refreshed")
        browser.press("Drain…")
        fill(browser, "reason", "half a reas")
        was = browser.find("[data-asof]").text
        time.sleep(7)
        assert browser.find("[data-asof]").text == was
        assert browser.find("main details[open] [name=reason]").get_attribute("value") == "half a reas"
