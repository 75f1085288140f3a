"""measure.py ERRAND FOLDERS URLS [PART...]: what several cells cost, and what happens when one is lost or added."""

import os
import random
import statistics
import subprocess
import sys
import time

from processes import cpu
from servers import Errand, Failed, Load, Server, Session, sql

Errand.path = sys.argv[1]
SERVERS = [Server(folder, url) for folder, url in zip(sys.argv[2].split(), sys.argv[3].split())]
JOBS = int(os.environ.get("JOBS", "150000"))
RATE = int(os.environ.get("RATE", "500"))
DOWN = int(os.environ.get("DOWN", "60"))
MOVED = int(os.environ.get("MOVED", "1000000"))
KILLS = 8
BATCH = 5_000
BULK = "select count(errand.enqueue_payloads_v1('noop', array_fill('{{}}'::jsonb, array[{}])))"


def show(name, seen, least):
    print(f"| {name} | {seen} | {least} |", flush=True)


def cells(name):
    urls = [server.make(name) for server in SERVERS]
    for number, url in enumerate(urls):
        Errand.run("migrate", "--cell", str(number), DATABASE_URL=url)
    return urls


def wait(url, condition, limit=120):
    """Waits until the condition holds. Returns how long that took, with attempts that fail meanwhile."""
    start, session = time.time(), None
    while time.time() - start < limit:
        try:
            session = session or Session(url)
            if session.sql(f"select {condition}") == "t":
                session.close()
                return time.time() - start
            time.sleep(0.01)
        except Failed:
            if session:
                session.close()
            session = None
            time.sleep(0.05)
    raise Failed(f"not within {limit} s: {condition}")


def worker(urls, **settings):
    """A worker that is registered in all cells."""
    process = Errand("worker", DATABASE_URL=" ".join(urls), ERRAND_QUEUES="default=12", ERRAND_LOG_LEVEL="warning",
                     **settings)
    for url in urls:
        wait(url, "exists (select from errand.worker)")
    return process


# --- One cell is lost

def ended(url, start, end):
    """Jobs a second that ended in the span, and the 99th percentile of the milliseconds until they began."""
    jobs, wait_ms = sql(url, f"""
        select count(*), coalesce(percentile_cont(0.99) within group (
            order by extract(epoch from started_at - created_at) * 1000), 0)
        from errand.history
        where finished_at >= to_timestamp({start}) and finished_at < to_timestamp({end})""").split("|")
    return int(jobs) / (end - start), float(wait_ms)


def lost():
    urls = cells("lost")
    process = worker(urls)
    loads = [Load(url, BULK.format(max(1, RATE // 50)), 0.02) for url in urls]
    time.sleep(5)
    start = time.time()
    time.sleep(DOWN)
    killed = time.time()
    loads[2].stop()
    SERVERS[2].kill()
    time.sleep(DOWN)
    returns = time.time()
    before = [ended(url, start, killed) for url in urls[:2]]
    during = [ended(url, killed, returns) for url in urls[:2]]
    SERVERS[2].start()
    accepts = time.time()
    sql(urls[2], BULK.format(1))
    wait(urls[2], "not exists (select from errand.job)", 30)
    begun = float(sql(urls[2], "select extract(epoch from max(started_at)) from errand.history"))
    for load in loads[:2]:
        load.stop()
    process.stop()
    for cell, (old, new) in enumerate(zip(before, during)):
        show(f"one of three cells killed for {DOWN} s: rate of cell {cell}, during / before",
             f"{new[0]:.0f} / {old[0]:.0f} jobs/s = {new[0] / old[0]:.2f}", ">= 0.95")
        show(f"p99 from enqueue to start in cell {cell}, during / before", f"{new[1]:.1f} / {old[1]:.1f} ms", "the same")
    show("first job of the lost cell after its server accepts connections again", f"{begun - accepts:.1f} s", "<= 5 s")


# --- What many cost

def drain(urls, jobs):
    """Microseconds of CPU a job, servers and worker, and jobs a second."""
    for url in urls:
        session = Session(url)
        session.sql("select errand.pause_queue('default', 'measured', force => true)")
        for _ in range(jobs // len(urls) // BATCH):
            session.sql(BULK.format(BATCH))
        session.sql("vacuum (analyze) errand.job")
        session.close()
    total = jobs // len(urls) // BATCH * BATCH * len(urls)
    process = worker(urls)
    time.sleep(3)
    before, start = used(process), time.time()
    for url in urls:
        sql(url, "select errand.resume_queue('default')")
    for url in urls:
        wait(url, "not exists (select from errand.job)", 1200)
    took, spent = time.time() - start, used(process) - before
    process.stop()
    return spent / total * 1e6, total / took


def used(process):
    return cpu([process.process.pid]) + sum(cpu(server.pids) for server in SERVERS)


def cost():
    rounds = []
    for _ in range(3):
        one = drain(cells("cost")[:1], JOBS)
        many = drain(cells("cost"), JOBS)
        rounds.append((one, many))
    ratio = statistics.median(many[0] / one[0] for one, many in rounds)
    one, many = (statistics.median(pair[index][0] for pair in rounds) for index in (0, 1))
    show("CPU of a job, servers and worker: three cells / one, median of three rounds",
         f"{many:.0f} / {one:.0f} us = {ratio:.2f}", "<= 1.1")
    one, many = (statistics.median(pair[index][1] for pair in rounds) for index in (0, 1))
    show("jobs a second: three cells / one", f"{many:.0f} / {one:.0f}", "")


# --- The front

def front(urls):
    url = SERVERS[0].make("front")
    Errand.run("cells", "front", DATABASE_URL=url, ERRAND_CELL_URL=urls[0])
    for cell in urls:
        Errand.run("cells", "add", DATABASE_URL=url, ERRAND_CELL_URL=cell)
    return url


def bulk(url):
    """Jobs a second by enqueue_many, in calls of 5,000."""
    session = Session(url)
    elements = "(select jsonb_agg(jsonb_build_object('kind', 'noop')) from generate_series(1, %d))" % BATCH
    start, calls = time.time(), max(1, JOBS // 3 // BATCH)
    for _ in range(calls):
        session.sql(f"select count(*) from errand.enqueue_many({elements})")
    session.close()
    return calls * BATCH / (time.time() - start)


def measure_front():
    urls = []
    for number in range(16):
        urls.append(SERVERS[number % 3].make(f"cell{number}"))
        Errand.run("migrate", "--cell", str(number), DATABASE_URL=urls[-1])
    url = front(urls)
    direct = statistics.median(bulk(urls[0]) for _ in range(3))
    routed = statistics.median(bulk(url) for _ in range(3))
    show("enqueue in bulk: front of 16 cells / direct, median of three", f"{routed:.0f} / {direct:.0f} jobs/s = "
         f"{routed / direct:.2f}", ">= 0.7")
    session, times = Session(url), []
    for _ in range(20):
        start = time.time()
        session.sql("select count(*) from errand.queues")
        times.append((time.time() - start) * 1000)
    session.close()
    show("status of 16 cells by the front, median of 20", f"{statistics.median(times[1:]):.0f} ms", "<= 100 ms")


# --- Growing

def change(*arguments, **settings):
    """Runs `errand cells`, again after 55P03 as its manual says. Returns its seconds and how often it ran."""
    for attempt in range(1, 20):
        start = time.time()
        try:
            Errand.run("cells", *arguments, **settings)
            return time.time() - start, attempt
        except Failed as error:
            if "repeat" not in str(error) and "lock" not in str(error) and "unresolved" not in str(error):
                raise
            time.sleep(1)
    raise Failed(f"errand cells {arguments[0]}: still refused after 20 attempts")


def grow():
    urls = cells("grow")
    url = front(urls[:2])
    process = worker(urls)
    loads = [Load(url, f"select errand.enqueue('noop', unique_key => '{name}/{{n}}')", 0.01) for name in "abcd"]
    time.sleep(10)
    start = time.time()
    added = change("add", DATABASE_URL=url, ERRAND_CELL_URL=urls[2])
    time.sleep(10)
    reached = sql(urls[2], "select count(*) from errand.history")
    drained = change("drain", "1", DATABASE_URL=url)
    time.sleep(5)
    dropped = change("drop", "1", DATABASE_URL=url)
    time.sleep(5)
    end = time.time()
    for load in loads:
        load.stop()
    wait(urls[0], "not exists (select from errand.job)")
    process.stop()
    times = [[time for time in load.done if start - 5 <= time <= end] for load in loads]
    gap = max(later - earlier for one in times for earlier, later in zip(one, one[1:]))
    errors = [load.errors.get() for load in loads for _ in range(load.errors.qsize())]
    show("failed enqueues while a cell is added, drained and removed, of " + str(sum(map(len, times))),
         f"{len(errors)}{': ' + errors[0] if errors else ''}", "0")
    show("largest gap between two enqueues of one client", f"{gap * 1000:.0f} ms", "no pause")
    for name, (seconds, attempts) in (("add", added), ("drain", drained), ("drop", dropped)):
        show(f"errand cells {name}", f"{seconds:.1f} s, {attempts} attempt(s)", "")
    show("jobs of the new cell within 10 s", reached, "> 0")


# --- Moving

def move():
    """Moves waiting jobs from one cell to another by a program that is killed again and again."""
    urls = cells("move")[:2]
    url = front(urls)
    session = Session(urls[0])
    for _ in range(MOVED // BATCH):
        session.sql(BULK.format(BATCH))
    session.sql("vacuum (analyze) errand.job")
    ids = "select count(*), sum(id::numeric), sum(id::numeric ^ 2) from errand.job"
    expected, start, kills = session.sql(ids), time.time(), 0
    while True:
        process = Errand("cells", "move", "default", "0", "1", DATABASE_URL=url)
        try:
            process.process.wait(None if kills == KILLS else random.uniform(1, 5))
            break
        except subprocess.TimeoutExpired:
            process.process.kill()
            process.process.wait()
            kills += 1
    took = time.time() - start
    left = session.sql("select (select count(*) from errand.job) + (select count(*) from errand.outgoing)")
    session.close()
    if process.process.returncode or left != "0" or sql(urls[1], ids) != expected:
        raise Failed(f"{left} jobs left; number and sums of ids and their squares: {sql(urls[1], ids)} of {expected}")
    show(f"{MOVED:,} waiting jobs moved, each once, the program killed {kills} times", f"{took:.0f} s", "<= 60 s")


PARTS = {"lost": lost, "cost": cost, "front": measure_front, "grow": grow, "move": move}
print("| what | seen | at least |\n|---|---|---|", flush=True)
for part in sys.argv[4:] or PARTS:
    PARTS[part]()
