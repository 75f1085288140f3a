import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("The history's partitions") struct MaintenanceTests {
    @Test("partitions are made ahead and dropped when their time is over, and a second run does nothing")
    func partitions() async throws {
        try await withTestDatabase { database, _ in
            try await database.makePartition(daysAgo: 20)
            #expect(try await database.query("select errand_internal.make_partitions(6)").scalar(Int.self) == 6)
            // Detached, then dropped.
            let more = "select errand_internal.drop_partition()"
            for isMore in [true, true, false] {
                #expect(try await database.query(Statement("\(more)")).scalar(Bool.self) == isMore)
            }
            #expect(try await database.query("select errand_internal.make_partitions(6)").scalar(Int.self) == 0)
            for table in ["history", "payload"] {
                #expect(try await database.count("from pg_class where relname ~ '^\(table)_[0-9]{8}$'") == 7)
            }
        }
    }

    @Test("jobs complete during a long read of the history, and its partitions are changed afterwards")
    func partitionsUnderReaders() async throws {
        try await withTestDatabase { database, _ in
            try await database.makePartition(daysAgo: 20)
            try await database.withConnection { reader in
                try await reader.execute("begin")
                try await reader.execute("select count(*) from errand.history where finished_at > now()")
                for step in ["make_partitions(6)", "drop_partition()"] {
                    let error = await #expect(throws: PostgresError.self) {
                        try await database.execute(Statement("select errand_internal.\(step)"))
                    }
                    #expect(error?.sqlState == "55P03")
                }
                try await Queue(database: database).enqueue(Noop())
                try await database.execute("select errand.cancel('{1}', 'test')")
                #expect(try await database.count("from errand.history") == 1)
                try await reader.execute("commit")
            }
            #expect(try await database.query("select errand_internal.make_partitions(6)").scalar(Int.self) == 6)
            #expect(try await database.query("select errand_internal.drop_partition()").scalar(Bool.self))
        }
    }

    @Test("jobs with a longer retention outlive their day's partition")
    func longRetention() async throws {
        try await withTestDatabase { database, _ in
            try await database.makePartition(daysAgo: 20)
            try await database.execute(
                """
                insert into errand.kind (name, queue, max_attempts, priority, keep_ended)
                values ('long', 'default', 1, 2, '30 days');
                """)
            try await database.execute(
                """
                insert into errand.history (
                    id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, state, queue, kind, payload)
                select
                    n, now(), now(), now() - interval '20 days', 2, 1, 1, 0, 'succeeded', 'default',
                    case when n % 2 = 0 then 'long' else 'noop' end, '{}'
                from generate_series(1, 10) as n
                """)
            while try await database.query("select errand_internal.drop_partition()").scalar(Bool.self) {}
            #expect(try await database.count("from errand.history_default") == 5)
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.history_default where kind = 'long'") == 5)
        }
    }

    @Test("the slots of jobs that have ended are removed in bounded steps")
    func slots() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            try await database.execute("select errand.set_limit('free', 20000)")
            try await queue.enqueue(Noop(), .limited(by: "free"))
            let worker = try await database.enter()
            try await database.take(worker)
            try await database.execute(
                """
                insert into errand.limit_slot (job_id, queue_position, admitted_at, slot, limit_key)
                select 1000 + n, 1000 + n, now(), 1 + n, 'free' from generate_series(1, 10500) as n
                """)
            try await database.execute("update errand.limit_slot set admitted_at = now() - interval '10 minutes'")
            #expect(try await database.query("select errand_internal.prune()").scalar(Int.self) == 10_000)
            #expect(try await database.query("select errand_internal.prune()").scalar(Int.self) == 500)
            #expect(try await database.text("select job_id from errand.limit_slot") == "1")
        }
    }

    @Test("of 150,000 slots of limits a call looks at 100,000 at most")
    func manySlots() async throws {
        try await withTestDatabase { database, _ in
            for statement: Statement in [
                "insert into errand.job (id, queue_position, kind) select n, n, 'noop' from generate_series(1, 110000) as n",
                """
                insert into errand.limit_slot (job_id, queue_position, admitted_at, slot, limit_key)
                select n, n, now() - interval '1 hour', 1, 'key/' || n from generate_series(1, 110000) as n
                """,
            ] {
                try await database.execute(statement)
            }
            let read = try await database.transaction { transaction in
                // The session's earlier counts are included until they are reported.
                func read() async throws -> Int {
                    try await transaction.query(
                        """
                        select sum(pg_stat_get_xact_tuples_returned(oid))::bigint
                        from (
                            select 'errand.limit_slot'::regclass::oid
                            union all
                            select indexrelid from pg_index where indrelid = 'errand.limit_slot'::regclass
                        ) as read(oid)
                        """
                    ).scalar(Int.self)
                }
                let before = try await read()
                try await transaction.execute("select errand_internal.prune()")
                return try await read() - before
            }
            #expect(read > 1000)
            #expect(read < 101_000)
            #expect(try await database.count("from errand.limit_slot") == 110_000)
        }
    }

    @Test("a job completes even if the partition of its day is missing, and the rest of that day gets one later")
    func safetyNet() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                do $$ declare part text; begin
                    for part in select inhrelid::regclass::text from pg_inherits
                        where inhparent = 'errand.history'::regclass and inhrelid <> 'errand.history_default'::regclass
                    loop execute 'drop table ' || part; end loop;
                end $$
                """)
            try await Queue(database: database).enqueue(Noop())
            try await database.execute("select errand.cancel('{1}', 'test')")
            #expect(try await database.count("from errand.history_default") == 1)
            let made = try await database.query("select errand_internal.make_partitions(3)").scalar(Int.self)
            // In the last hour of a day, the task runs without a delay.
            #expect((3...4).contains(made))
            #expect(try await database.query("select errand_internal.make_partitions(3)").scalar(Int.self) == 0)
            try await database.execute(
                """
                insert into errand.history (
                    id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, state, queue, kind, payload)
                select n, now(), now(), now() + n * interval '2 hours', 2, 1, 1, 0, 'succeeded', 'default', 'noop', '{}'
                from generate_series(1, 24) as n
                """)
            #expect(try await database.count("from errand.history_default") == 1)
            #expect(try await database.count("from errand.history") == 25)
        }
    }

    @Test("totals, circuits and marks that are unused for long are pruned, and no others")
    func unused() async throws {
        try await withTestDatabase { database, _ in
            _ = try await ManualWorker(
                database,
                kinds: """
                    [{"name": "a", "queue": "default", "max_attempts": 1, "priority": 2, "is_whole": true, "circuits": ["needed"]}]
                    """)
            for setup: Statement in [
                """
                insert into errand.finished_total (jobs, last_minute, queue, kind, outcome)
                select 1, now() - days * interval '1 day', queue, 'a', 'succeeded' || days
                from (values ('default', 300), ('default', 400), ('other', 100), ('busy', 80), ('busy', 400))
                    as total (queue, days)
                """,
                """
                insert into errand.circuit (name, failed_at, opened_at)
                values
                    ('old', now() - interval '31 days', null), ('young', now() - interval '29 days', null),
                    ('down', now() - interval '31 days', now() - interval '31 days'),
                    ('needed', now() - interval '31 days', null), ('waited_for', now() - interval '31 days', null),
                    ('set', now() - interval '31 days', null)
                """,
                "update errand.circuit set threshold = 5 where name = 'set'",
                "select errand.enqueue('noop')",
                "update errand.job set state = 'parked', queue_position = null, parked_for = 'circuit:waited_for'",
                """
                insert into errand.mark (stored_at, server_start, kinds, marks)
                select now() - n * interval '1 minute', errand_internal.server_start(), '{}', '{}' from generate_series(1, 150) as n
                """,
                "insert into errand.mark values (now() - interval '8 days', errand_internal.server_start(), '{}', '{}')",
                "select errand_internal.prune()",
            ] {
                try await database.execute(setup)
            }
            #expect(
                try await database.word(
                    "select string_agg(queue || ' ' || outcome, ', ' order by queue, outcome) from errand.finished_total"
                )
                    == "busy succeeded400, busy succeeded80, default succeeded300")
            #expect(
                try await database.word("select string_agg(name, ' ' order by name) from errand.circuit")
                    == "down needed set waited_for young")
            #expect(try await database.count("from errand.mark") == 100)
        }
    }

    @Test("old failures are pruned, younger ones stay")
    func failures() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.failed (
                    id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error)
                select n, now(), now(), now() - n * interval '10 days', 2, 1, 1, 0, 'default', 'noop', '{}', 'test'
                from generate_series(1, 4) as n
                """)
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.failed") == 2)
        }
    }
}

extension Database {
    /// The partition of a past day.
    fileprivate func makePartition(daysAgo days: Int) async throws {
        try await execute(
            Statement(
                """
                do $$
                declare
                    day date := current_date - \(days);
                begin
                    execute format(
                        'create table errand.history_%s partition of errand.history for values from (%L) to (%L)',
                        to_char(day, 'YYYYMMDD'), day, day + 1);
                    execute format('alter table errand.history_%s owner to errand_owner', to_char(day, 'YYYYMMDD'));
                end
                $$
                """))
    }
}
