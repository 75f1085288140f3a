#!/usr/bin/env python3
"""Tries rates of keys for minutes, with twice as many jobs as may start.

    Benchmarks/Features/key_rates.py URL [MINUTES [KEYS]]

URL is a migrated database without jobs, which workers of the queue `default` serve: `errand worker`. Each of 10,000
keys may start a job in 5 s and one more. For ten minutes each gets two in 5 s, of which one in twenty is cancelled. In
the middle the queue is paused for a minute. The exit code is 1 if a key has started more than it may in any 5 s, or if
outside of the pause one is more than 10 % off its rate.
"""

import subprocess
import sys
import time

PER = 5
ENQUEUE = """
    with enqueued as materialized (
        select job_id, ordinal
        from errand.enqueue_many((
            select jsonb_agg(jsonb_build_object('kind', 'noop', 'rate_key', 'bench/' || n % {keys}))
            from generate_series({first}, {last}) as n))
    )
    select count(*) from errand.cancel(array(select job_id from enqueued where random() < 0.05), 'not wanted')
"""
# Each start with the one that came before it by as many starts as a span may hold.
FAULTS = """
    select count(*)
    from (
        select started_at - lag(started_at, 2) over (partition by rate_key order by started_at) as span
        from errand.history where state = 'succeeded'
    ) as near
    where span < interval '{per} s'
"""
# Without the start, in which each key has its burst, and from the pause on until its effect has ended.
RATES = """
    select min(count), max(count), count(*) filter (where count not between {least} and {most}), count(*)
    from (
        select count(started_at) filter (
            where started_at between '{start}'::timestamptz + interval '30 s' and '{pause}'
                or started_at between '{resume}'::timestamptz + interval '30 s' and '{end}'::timestamptz) as count
        from generate_series(0, {keys} - 1) as key
        left join errand.history on rate_key = 'bench/' || key and state = 'succeeded'
        group by key
    ) as counted
"""


def ask(url, statement):
    reply = subprocess.run(["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", url, "-c", statement],
                           check=False, stdout=subprocess.PIPE, text=True)
    if reply.returncode:
        sys.exit("key_rates.py: psql has failed")
    return reply.stdout.strip()


def now(url):
    return float(ask(url, "select extract(epoch from clock_timestamp())"))


def offer(url, keys, first, until):
    """Enqueues until then, twice what may start. Returns the number of the next job, and the longest it was late."""
    late = 0.0
    start, enqueued = time.monotonic(), 0
    while (left := until - time.monotonic()) > 0:
        due = int((time.monotonic() - start) * keys * 2 / PER) - enqueued
        if due < keys // 10:
            time.sleep(min(left, 0.05))
            continue
        late = max(late, due * PER / (keys * 2))
        last = first + min(due, keys) - 1
        ask(url, ENQUEUE.format(keys=keys, first=first, last=last))
        enqueued += last - first + 1
        first = last + 1
    return first, late


def main(url, minutes="10", keys="10000"):
    if ask(url, "select exists (select from errand.job)") == "t":
        sys.exit("key_rates.py: expected a database without jobs")
    seconds, keys = float(minutes) * 60, int(keys)
    ask(url, f"select errand.set_key_rate('bench/*', '{PER} s', 1)")
    start, begun = now(url), time.monotonic()
    first, late = offer(url, keys, 1, begun + seconds / 2)
    pause = now(url)
    ask(url, "select errand.pause_queue('default', 'a minute without starts')")
    first, slow = offer(url, keys, first, begun + seconds / 2 + 60)
    ask(url, "select errand.resume_queue('default')")
    resume = now(url)
    first, slowest = offer(url, keys, first, begun + seconds)
    end = now(url)
    started = int(ask(url, "select count(*) from errand.history where state = 'succeeded'"))
    faults = int(ask(url, FAULTS.format(per=PER)))
    span = pause - start + end - resume - 60
    expected = span / PER
    times = {name: ask(url, f"select to_timestamp({moment})") for name, moment in
             {"start": start, "pause": pause, "resume": resume, "end": end}.items()}
    least, most, off, count = map(int, ask(url, RATES.format(
        keys=keys, least=0.9 * expected, most=1.1 * expected, **times)).split("|"))
    print(f"{first - 1:,} jobs enqueued, at most {max(late, slow, slowest):.1f} s late; {started:,} started\n"
          f"{faults} starts over the bound of 2 in any {PER} s\n"
          f"{least} to {most} starts a key in {span:.0f} s, where {expected:.0f} may; {off} of {count:,} keys are more"
          " than 10 % off")
    sys.exit(1 if faults or off else 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
