#!/usr/bin/env python3
"""Measures what jobs with each feature cost beside plain ones, in the server: enqueue, and claim and end.

    Benchmarks/Features/features.py URL [ROUNDS [JOBS]]

URL is a migrated database without jobs, on a server of this machine that nothing else uses. Its jobs are deleted.

All run in turn, in one session with `synchronous_commit = off`: one job a transaction in, claims of 20, and their ends
in a transaction each. Numbers are the lower quartiles of the rounds, a job.
"""

import statistics
import subprocess
import sys

# What each enqueues as its nth job, and the id of the one before.
PLAIN = "errand.enqueue('bench', '{\"photo\": 17}'"
FEATURES = {
    "plain": f"{PLAIN})",
    "plain, once more": f"{PLAIN})",
    "a limit of 10 for each of 100 keys": f"{PLAIN}, limit_key => 'bench/' || $1 % 100)",
    "a rate for each of 100 keys, never full": f"{PLAIN}, rate_key => 'bench/' || $1 % 100)",
    "an order, 100 keys": f"{PLAIN}, order_key => 'bench/' || $1 % 100)",
    "every second job waits for the one before": f"{PLAIN}, after => case when $1 % 2 = 0 then array[$2] end)",
    "a unique key": f"{PLAIN}, unique_key => 'bench/' || $1)",
    "a unique key while it waits": f"{PLAIN}, unique_key => 'bench/' || $1, unique_while => 'waiting')",
    "a unique key for a day": f"{PLAIN}, unique_key => 'bench/' || $1, unique_for => '1 day')",
    "in a batch": f"{PLAIN}, batch => (select max(id) from errand.batch))",
    "a kind with on_failure, that succeeds": f"{PLAIN.replace('bench', 'watched')})",
    "one step": f"{PLAIN})",
}
SCHEMA = """
    create schema bench;
    create table bench.result (feature text, enqueue_us float8, run_us float8, wal_bytes float8);
    create procedure bench.cycle(feature text, enqueue text, first bigint, jobs int, worker bigint, steps boolean)
    language plpgsql as $$
    declare
        start timestamptz := clock_timestamp();
        wal pg_lsn := pg_current_wal_insert_lsn();
        enqueued timestamptz;
        previous bigint;
        claimed record;
        ended int := 0;
    begin
        for nth in first .. first + jobs - 1 loop
            execute enqueue into previous using nth, previous;
            commit;
        end loop;
        enqueued := clock_timestamp();
        while ended < jobs loop
            if clock_timestamp() > enqueued + interval '1 minute' then
                raise exception '%: expected % ends, got %', feature, jobs, ended;
            end if;
            select array_agg(id) as ids, array_agg(queue_position) as positions into claimed
            from errand_internal.claim_v1(
                'default', '{bench,watched}', worker, 20, '{0,0,0,0}', '{1,2,3,4}', true)
            where id is not null;
            commit;
            continue when claimed.ids is null;
            if steps then
                perform errand_internal.record_step_v1(worker, id, queue_position, 'first', '1')
                from unnest(claimed.ids, claimed.positions) as one(id, queue_position);
                commit;
                perform errand_internal.complete_v1(
                    worker, claimed.ids, claimed.positions, array_fill('succeeded'::text, array[n]),
                    array_fill(null::text, array[n]), array_fill(null::bigint, array[n]),
                    array_fill(null::jsonb, array[n]), array_fill(null::timestamptz, array[n]),
                    array_fill(null::text, array[n]))
                from cardinality(claimed.ids) as n;
            else
                perform errand_internal.finish_v1(worker, claimed.ids, claimed.positions, null);
            end if;
            commit;
            ended := ended + cardinality(claimed.ids);
        end loop;
        insert into bench.result
        values (
            feature, extract(epoch from enqueued - start) * 1e6 / jobs,
            extract(epoch from clock_timestamp() - enqueued) * 1e6 / jobs,
            (pg_current_wal_insert_lsn() - wal) / jobs);
        commit;
    end
    $$;
    select errand.set_limit('bench/*', 10);
    select errand.set_key_rate('bench/*', '1 s', 1000000, 1000000);
    select errand.batch_open('bench');
    select errand.put_kind('watched', on_failure => 'bench');"""

CLEAN = "truncate errand.job, errand.history, errand.unique_period, errand.order_job, errand.order_slot, "\
        "errand.batch, errand.batch_jobs"


def ask(url, *statements):
    commands = [argument for statement in statements for argument in ("-c", statement)]
    reply = subprocess.run(["psql", "-qtAX", "-v", "ON_ERROR_STOP=1", url, *commands],
                           check=False, stdout=subprocess.PIPE, text=True)
    if reply.returncode:
        sys.exit("features.py: psql has failed")
    return reply.stdout.strip()


def main(url, rounds="15", jobs="400"):
    if ask(url, "select exists (select from errand.job)") == "t":
        sys.exit("features.py: expected a database without jobs: all jobs would be deleted")
    ask(url, CLEAN, SCHEMA)
    kind = '"name": "{}", "queue": "default", "max_attempts": 3, "priority": 2'
    worker = ask(url, "select worker_id from errand_internal.register_worker_v1('bench', '1', '1 h', '{default}',"
                      f" '[{{{kind.format('bench')}}}, {{{kind.format('watched')}}}]')")
    first = 1
    calls = []
    for _ in range(int(rounds)):
        for feature, enqueue in FEATURES.items():
            calls.append(f"call bench.cycle($f${feature}$f$, $e$select job_id from {enqueue}$e$, {first}, {jobs},"
                         f" {worker}, {feature == 'one step'})")
            first += int(jobs)
        calls.append("checkpoint")
    ask(url, "set synchronous_commit = off", *calls)
    print("| | enqueue, us | ratio | claim and end, us | ratio | WAL, B | ratio |\n|---|---|---|---|---|---|---|")
    plain = None
    for feature in FEATURES:
        rows = ask(url, f"select enqueue_us, run_us, wal_bytes from bench.result where feature = $f${feature}$f$")
        found = [statistics.quantiles(values)[0]
                 for values in zip(*(map(float, row.split("|")) for row in rows.splitlines()))]
        plain = plain or found
        print(f"| {feature} |", " | ".join(f"{value:,.0f} | {value / base:.2f}"
                                           for value, base in zip(found, plain)), "|")
    ask(url, CLEAN, "drop schema bench cascade")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
