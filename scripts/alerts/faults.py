"""The fault of each alert: a generator that causes it, waits at `yield` until the alert fires, then removes it."""

import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from service import BINARIES, FOLDER, URL, sql


def scrape_failing(web, worker, scheduler):
    worker.stop()
    yield
    worker.start()


def no_metrics(web, worker, scheduler):
    web.stop()
    yield
    web.start()


def status_down(web, worker, scheduler):
    sql("revoke errand_monitor from errand_watches")
    yield
    sql("grant errand_monitor to errand_watches")


def statistics_old(web, worker, scheduler):
    # Nobody runs a task that is neither long nor short, and after a refresh that took so long the page makes none.
    sql("update errand.maintenance_task set done_at = now() - interval '1 hour', took_ms = 1e9, is_long = null"
        " where name = 'statistics'")
    yield
    sql("update errand.maintenance_task set took_ms = 0, is_long = true where name = 'statistics'")


def no_worker(web, worker, scheduler):
    worker.stop()
    yield
    worker.start()


def queue_unserved(web, worker, scheduler):
    sql("select errand.enqueue('noop', queue => 'forgotten', run_at => now() - interval '10 minutes')")
    yield
    sql("select errand.cancel_where('{\"queue\": \"forgotten\"}', reason => 'test', dry_run => false)")


def no_scheduler(web, worker, scheduler):
    scheduler.stop()
    yield
    scheduler.start()


def jobs_late(web, worker, scheduler):
    sql("select errand.enqueue('noop', '{\"sleep_ms\": 30000}', run_at => now() - interval '20 minutes')"
        " from generate_series(1, 12)")
    yield
    sql("select errand.cancel_where('{\"queue\": \"default\"}', reason => 'test', dry_run => false)")


def jobs_failing(web, worker, scheduler):
    for _ in range(5):
        sql("select errand.enqueue('noop', '{\"fail\": \"permanent\"}') from generate_series(1, 20)")
        time.sleep(2)
    yield
    sql("select count(*) from errand.discard(array(select id from errand.jobs where state = 'failed'), 'test')")


def jobs_stuck(web, worker, scheduler):
    sql("select errand.enqueue('noop', '{\"sleep_ms\": 60000}') from generate_series(1, 2)")
    wait("select count(*) = 2 from errand.jobs where state = 'running'")
    # Nobody is left to rescue the jobs of the lost worker.
    scheduler.stop()
    worker.stop(signal.SIGKILL)
    yield
    worker.start()
    scheduler.start()
    sql("select errand.cancel_where('{\"queue\": \"default\"}', reason => 'test', dry_run => false)")


def circuit_down(web, worker, scheduler):
    yield from without_store(
        "select media.submit_upload('fault/' || n, '\\xffd8ffe0', owner => 'test') from generate_series(1, 6) as n")


def leases_lost(web, worker, scheduler):
    worker.send(signal.SIGSTOP)
    time.sleep(8)
    worker.send(signal.SIGCONT)
    yield


def pool_exhausted(web, worker, scheduler):
    # Pages wait for the table, and more readers than the page has connections wait for one of these.
    holder = session("begin; lock table errand.job")
    readers = [threading.Thread(target=open_page, args=(web,)) for _ in range(12)]
    for reader in readers:
        reader.start()
    yield
    release(holder)
    for reader in readers:
        reader.join()


def schedule_late(web, worker, scheduler):
    sql("select errand.put_schedule('test', '* * * * *', 'noop', payload => '{\"padding\": 1}')")
    # The jobs of the schedule are refused, and the reason is on record.
    sql("update errand.schedule set max_lateness = interval '1 second' where name = 'test'")
    scheduler.stop()
    yield
    scheduler.start()
    sql("select errand.drop_schedule('test')")


def ticks_late(web, worker, scheduler):
    sql("select errand.put_schedule('often', 'every 2 s', 'noop', missed => 'all')")
    time.sleep(4)
    # For less than the window of the rule, which would not see a counter that was not scraped for longer.
    scheduler.send(signal.SIGSTOP)
    time.sleep(7)
    scheduler.send(signal.SIGCONT)
    yield
    sql("select errand.drop_schedule('often')")


def vacuum_held_back(web, worker, scheduler):
    holder = snapshot()
    sql("create procedure public.burn() language plpgsql as $$ begin for n in 1..1050000 loop "
        "set local synchronous_commit = off; perform pg_current_xact_id(); commit; end loop; end $$")
    sql("call public.burn()")
    sql("drop procedure public.burn()")
    yield
    release(holder)


def photos_failing(web, worker, scheduler):
    # A deployment without a working errand-image beside errand.
    program = BINARIES / "errand-image"
    kept = FOLDER / "errand-image"
    shutil.copy(program, kept)
    replace(program, Path("/bin/false"))
    photos(20, "fails")
    yield
    replace(program, kept)
    photos(20, "fits")


def store_behind(web, worker, scheduler):
    yield from without_store(
        "select media.submit_upload('behind/' || n, '\\xffd8ffe0', owner => 'test') from generate_series(1, 6) as n",
        "update media.upload set staged_at = now() - interval '1 hour' where bytes is not null")


def removals_late(web, worker, scheduler):
    yield from without_store(
        "insert into media.removal (in_flight, key) values (false, 'late/1')",
        "update media.removal set asked_at = now() - interval '1 day'")


def push_without_credentials(web, worker, scheduler):
    sql("select devices.register('user-1', 'apns', repeat('ab', 32))")
    sql("select notify.send('user-1', 'Ada', 'A new moment') from generate_series(1, 6)")
    yield
    worker.stop()
    worker.start(ERRAND_PUSH="log")
    sql("select errand.circuit_close('apns')")


def table_bloated(web, worker, scheduler):
    sql("alter system set autovacuum = off")
    sql("select pg_reload_conf()")
    sql("select count(*) from errand.enqueue_many("
        "(select jsonb_agg(jsonb_build_object('kind', 'noop', 'queue', 'bulk')) from generate_series(1, 40000)))")
    # Otherwise who reads the table prunes its pages.
    holder = snapshot()
    for _ in range(4):
        sql("update errand.job set priority = priority where queue = 'bulk'")
    sql("select pg_stat_force_next_flush()")
    yield
    release(holder)
    sql("vacuum errand.job")
    sql("alter system reset autovacuum")
    sql("select pg_reload_conf()")
    sql("select errand.cancel_where('{\"queue\": \"bulk\"}', reason => 'test', dry_run => false)")


def memory_high(web, worker, scheduler):
    worker.stop()
    worker.start(ERRAND_QUEUES="default=800")
    sql("select errand.enqueue('noop', jsonb_build_object('sleep_ms', 120000, 'output', repeat(md5(n::text), 8000)))"
        " from generate_series(1, 800) as n")
    yield
    worker.stop()
    sql("select errand.cancel_where('{\"queue\": \"default\"}', reason => 'test', dry_run => false)")
    worker.start()


def without_store(*statements):
    """Runs the statements while the folder of photos is gone, as a mount may be."""
    storage = FOLDER / "storage"
    storage.rename(FOLDER / "away")
    storage.write_text("not a folder")
    for statement in statements:
        sql(statement)
    yield
    storage.unlink()
    (FOLDER / "away").rename(storage)


def snapshot():
    """A session that holds a snapshot."""
    return session("begin isolation level repeatable read; select 1")


def session(statement):
    """A session that stays in the transaction that the statement begins."""
    holder = subprocess.Popen(["psql", URL, "-Xq"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    holder.stdin.write(f"{statement};\n")
    holder.stdin.flush()
    time.sleep(1)
    return holder


def release(holder):
    """Ends a session."""
    holder.stdin.close()
    holder.wait(20)


def replace(program, by):
    """Another file under the name, since a running program can't be written to."""
    copy = program.with_suffix(".new")
    shutil.copy(by, copy)
    copy.rename(program)


def photos(count, folder):
    """Submits photos that phones could have sent."""
    for number in range(count):
        key = f"{folder}/{number}.png"
        path = FOLDER / "photo.png"
        if not path.exists():
            subprocess.run(["vips", "gaussnoise", path, "64", "48"], check=True)
        sql(f"select media.submit_upload('{key}', decode('{path.read_bytes().hex()}', 'hex'), owner => 'test')")
        sql(f"select media.submit('{key}', owner => 'test')")


def open_page(web):
    """Opens the operators' page twice, whatever comes of it."""
    for _ in range(2):
        try:
            web.get("/")
        except OSError:
            pass


def wait(condition):
    """Waits until the query is true, for 30 s at most."""
    deadline = time.monotonic() + 30
    while sql(condition) != "t":
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within 30 s: {condition}")
        time.sleep(0.2)


FAULTS = {
    "ErrandScrapeFailing": scrape_failing, "ErrandNoMetrics": no_metrics, "ErrandStatusDown": status_down,
    "ErrandStatisticsOld": statistics_old, "ErrandNoWorker": no_worker, "ErrandQueueUnserved": queue_unserved, "ErrandNoScheduler": no_scheduler,
    "ErrandJobsLate": jobs_late, "ErrandJobsFailing": jobs_failing, "ErrandJobsStuck": jobs_stuck,
    "ErrandCircuitOpen": circuit_down, "ErrandLeasesLost": leases_lost,
    "ErrandPoolExhausted": pool_exhausted, "ErrandScheduleLate": schedule_late, "ErrandTicksLate": ticks_late,
    "ErrandVacuumHeldBack": vacuum_held_back, "ErrandPhotosFailing": photos_failing,
    "ErrandStoreBehind": store_behind, "ErrandRemovalsLate": removals_late, "ErrandPushWithoutCredentials": push_without_credentials, "ErrandTableBloated": table_bloated,
    "ErrandMemoryHigh": memory_high,
}
