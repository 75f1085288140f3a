"""Texts that would run as a script or leave their place, in every field of the queue that somebody else can fill."""

import json

from browser import Browser
from shop import PASSWORD, TOKEN

HOSTILE = [
    "<script>window.owned = 1</script>",
    "\"><img src=x onerror=\"window.owned = 1\">",
    "'><svg onload='window.owned = 1'>",
    # A quote and an accent are one character to a reader, and two to a browser.
    "\"\u0301 autofocus onfocus=window.owned=1 x=\"",
    "</textarea></pre></title><script>window.owned = 1</script>",
    "javascript:window.owned=1",
    "{{{layout.formToken}}} {{>head}}",
    "\u202egnp.exe\u2066",
]


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def fill(shop):
    """A job of each state, a worker, a limit, a circuit and an audited action for each text."""
    for text in HOSTILE:
        given = literal(text)
        payload = literal(json.dumps({text: [text, {"token": text}]}))
        shop.psql(f"""
            insert into errand.failed (
                id, created_at, run_at, started_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind,
                unique_key, payload, attempts, error, limit_key, guard, tags, options)
            select nextval(pg_get_serial_sequence('errand.job', 'id')), now(), now(), now(), now(), 2, 1, 1, 0, {given},
                {given}, {given}, {payload}, jsonb_build_array(jsonb_build_object(
                    'attempt', 1, 'outcome', {given}, 'worker', {given}, 'error', {given}, 'started_at', now(),
                    'ended_at', now())), {given}, {given}, {given}, array[{given}],
                jsonb_build_object('traceparent', {given});
            insert into errand.history (
                id, created_at, run_at, priority, attempt, max_attempts, crashes, state, queue, kind, unique_key, payload,
                output, reason, tags)
            select nextval(pg_get_serial_sequence('errand.job', 'id')), now(), now(), 2, 1, 1, 0, 'cancelled', {given},
                {given}, {given}, {payload}, {payload}, {given}, array[{given}];
            insert into errand.job (queue, kind, payload, tags, run_at, state, parked_for)
            values ({given}, {given}, {payload}, array[{given}], now(), 'parked', 'limit:' || {given});
            insert into errand.job (queue, kind, state, parked_for, options)
            select {given}, {given}, 'parked', 'job:' || id,
                jsonb_build_object('after', array[id], 'order_key', {given})
            from errand.failed
            where kind = {given};
            insert into errand.step (job_id, name, output)
            select id, {given}, {payload} from errand.failed where kind = {given};
            insert into errand.order_slot (order_key, job_id, blocked_at)
            select {given}, id, now() from errand.failed where kind = {given};
            insert into errand.key_rate (per, spacing, grace, allowed, burst, rate_key)
            values ('1 s', 1, 1, 1, 1, {given});
            insert into errand.progress (job_id, queue_position, attempt, fraction, message, output, log)
            select id, 0, 1, 0.5, {given}, {payload}, array[{given}] from errand.failed where kind = {given};
            insert into errand.worker (name, version, lease, queues, kinds, drained_at, drained_by, drained_reason)
            values ({given}, {given}, '1 hour', array[{given}], array[{given}], now(), {given}, {given});
            insert into errand.queue (name, paused_at, paused_reason, paused_by) values ({given}, now(), {given}, {given});
            insert into errand.limit (limit_key, max_running) values ({given}, 1);
            insert into errand.batch (id, name, owner, properties, on_success, on_finish, on_failure)
            select nextval(pg_get_serial_sequence('errand.job', 'id')), {given}, {given}, {payload}, called, called, called
            from (select jsonb_build_object('kind', {given}) as called) as callback;
            insert into errand.batch_jobs (batch_id, last_id, first_id)
            select batch.id, job.id, job.id
            from errand.batch cross join errand.job
            where batch.name = {given} and job.kind = {given} and job.parked_for like 'limit:%';
            select errand.set_limit({given}, 7, {given});
            insert into errand.action (jobs, who, action, target, reason, person, request, job_ids)
            select 1, {given}, {given}, {payload}, {given}, {given}, {given}, array[max(id)] from errand.failed;
            update errand.circuit set reason = {given} where name = 'warehouse';
            update errand.schedule set paused_reason = {given}, problem = {given} where name = 'monthly_invoices';
            insert into errand.finished_per_minute (minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms)
            values (date_trunc('minute', now()) - interval '5 minutes', 0, {given}, {given}, 'succeeded', 3, 1, 1);
            """)
    shop.psql("select errand_internal.update_statistics()")


def everything(shop):
    fill(shop)
    ids = shop.psql(
        "select id from errand.failed where queue !~ '^[a-z]+$' or queue ~ '^java' union all "
        "select id from errand.history where queue !~ '^[a-z]+$' union all "
        "select id from errand.job where queue !~ '^[a-z]+$'").split()
    assert len(ids) >= 3 * len(HOSTILE) - 3, ids
    with Browser() as browser:
        browser.log_in(shop.site, "alice", PASSWORD)
        pages = ["/", "/jobs", "/batches", "/failures", "/schedules", "/workers", "/limits", "/audit"]
        pages += [f"/jobs/{job}{more}" for job in ids for more in ("", "/flow")]
        batches = shop.psql("select id from errand.batch where name = owner").split()
        undoable = shop.psql("select id from errand.audit where action = 'set_limit' and reason is not null").split()
        assert len(batches) == len(HOSTILE) <= len(undoable), (batches, undoable)
        pages += [f"/batches/{batch}{more}" for batch in batches for more in ("", "/cancel", "/retry")]
        pages += [f"/audit/{action}/undo" for action in undoable]
        for text in HOSTILE:
            from urllib.parse import quote
            pages += [f"/jobs?kind={quote(text)}&error={quote(text)}&tag={quote(text)}&fingerprint={quote(text)}",
                      f"/failures/retry?kind={quote(text)}&queue={quote(text)}&fingerprint={quote(text)}",
                      f"/jobs?done={quote(text)}", f"/{quote(text)}"]
        for page in pages:
            browser.driver.get(shop.site + page)
            assert not browser.driver.execute_script("return window.owned"), f"a script ran on {page}"
            odd = browser.driver.execute_script(
                "return document.querySelectorAll('script:not([src]), img, iframe, [onload], [onerror], [onfocus], "
                "[autofocus], [style], a[href^=\"javascript:\"]').length")
            assert odd == 0, f"{odd} elements of a hostile text are in {page}"
            # The hostile text itself, which a drawing shortens.
            assert "{{" not in browser.driver.execute_script(
                "return document.documentElement.outerHTML.replaceAll(/\\{\\{\\{layout\\.[^<\"]*/g, '')"), page


def logs(shop):
    """No log has a secret, also at the level debug and at the end of a process."""
    log = shop.log()
    for secret in [PASSWORD, TOKEN, shop.password_setting.split("=", 1)[1], "errand_session", "not-for-anybodys-eyes", "never-to-be-shown",
                   "a-guess-that-is-wrong"]:
        assert secret not in log, f"a log has {secret[:12]}…"
    assert not any(ord(character) < 32 and character != "\n" for character in log), "a log has a control character"
