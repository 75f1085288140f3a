import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("The partitions of large payloads") struct PayloadPartitionTests {
    @Test("a day's payloads stay while the history refers to them, and are dropped whole afterwards")
    func history() async throws {
        try await withTestDatabase { database, _ in
            try await database.enqueueOld(days: 20)
            try await database.execute("select errand.cancel('{1}', 'test')")
            try await database.dropPartitions()
            #expect(try await database.count("from errand.jobs where payload ->> 'n' = '1'") == 1)
            try await database.execute("delete from errand.history")
            try await database.dropPartitions()
            #expect(try await database.count("from errand.payload") == 0)
            #expect(try await database.count("from pg_class where relname ~ '^payload_[0-9]{8}$'") == 4)
        }
    }

    @Test(
        "a job that waits or runs for long takes its payload along when its day is dropped", arguments: [false, true])
    func waiting(isRunning: Bool) async throws {
        try await withTestDatabase { database, _ in
            try await database.enqueueOld(days: 20)
            let worker = try await ManualWorker(database)
            var jobs = isRunning ? try await worker.claim(1) : []
            try await database.dropPartitions()
            #expect(try await database.count("from errand.payload where day = (now() at time zone 'UTC')::date") == 1)
            #expect(try await database.count("from pg_class where relname ~ '^payload_[0-9]{8}$'") == 4)
            if !isRunning { jobs = try await worker.claim(1) }
            #expect(try await worker.end(jobs) == [])
            let succeeded = "from errand.jobs where state = 'succeeded' and payload ->> 'n' = '1'"
            #expect(try await database.count(succeeded) == 1)
        }
    }

    @Test("jobs with a longer retention keep their large payloads")
    func longRetention() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.kind (name, queue, max_attempts, priority, keep_ended)
                values ('noop', 'default', 1, 2, '30 days')
                """)
            try await database.enqueueOld(days: 20)
            try await database.makeOldPartition(of: "history", days: 20)
            try await database.execute("select errand.cancel('{1}', 'test')")
            try await database.execute("update errand.history set finished_at = now() - interval '20 days'")
            try await database.dropPartitions()
            #expect(try await database.count("from errand.history_default where payload ->> 'n' = '1'") == 1)
            #expect(try await database.count("from errand.payload") == 0)
        }
    }

    @Test("a large payload is deleted with its job if the retention is shorter than a day's partition")
    func shortRetention() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.kind (name, queue, max_attempts, priority, keep_ended)
                values ('noop', 'default', 1, 2, '1 hour')
                """)
            try await database.enqueueLarge()
            try await database.execute("select errand.cancel('{1}', 'test')")
            try await database.execute("update errand.history set finished_at = now() - interval '61 minutes'")
            #expect(try await database.query("select errand_internal.prune()").scalar(Int.self) == 1)
            #expect(try await database.count("from errand.payload") == 0)
        }
    }

    @Test("a large payload is stored even if the partition of its day is missing, and pruned after its retention")
    func safetyNet() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                do $$ declare part text; begin
                    for part in select inhrelid::regclass::text from pg_inherits
                        where inhparent = 'errand.payload'::regclass and inhrelid <> 'errand.payload_default'::regclass
                    loop execute 'drop table ' || part; end loop;
                end $$
                """)
            for _ in 1...3 { try await database.enqueueLarge() }
            #expect(try await database.count("from errand.payload_default") == 3)
            // No partition is added for a day that has payloads there.
            #expect(try await database.query("select errand_internal.make_partitions(3)").scalar(Int.self) == 3)
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(1).count == 1)
            try await database.execute("select errand.cancel('{2}', 'test')")
            try await database.execute("update errand.payload set day = day - 20")
            try await database.execute("update errand.job set payload_day = payload_day - 20")
            // The history of the second job refers to another day now.
            try await database.execute("select errand_internal.prune()")
            #expect(
                try await database.word("select string_agg(job_id::text, ' ' order by job_id) from errand.payload")
                    == "1 3")
        }
    }

    @Test("jobs are enqueued, claimed and completed while a session reads payloads for long")
    func underReaders() async throws {
        try await withTestDatabase { database, _ in
            try await database.enqueueOld(days: 20)
            try await database.execute("delete from errand.job")
            try await database.withConnection { reader in
                try await reader.execute("begin")
                try await reader.execute("select count(*) from errand.payload")
                let error = await #expect(throws: PostgresError.self) { try await database.dropPartitions() }
                #expect(error?.sqlState == "55P03")
                try await database.enqueueLarge()
                let worker = try await ManualWorker(database)
                #expect(try await worker.end(worker.claim(10)) == [])
                #expect(try await database.count("from errand.history") == 1)
                try await reader.execute("commit")
            }
            try await database.dropPartitions()
            #expect(try await database.count("from pg_class where relname ~ '^payload_[0-9]{8}$'") == 4)
        }
    }
}

extension Database {
    fileprivate func enqueueLarge() async throws {
        try await execute(
            """
            select errand.enqueue('noop', (
                select jsonb_build_object('n', 1, 'text', string_agg(md5(n::text), ''))
                from generate_series(1, 300) as n))
            """)
    }

    /// Enqueues a job with a large payload in the partition of a past day.
    fileprivate func enqueueOld(days: Int) async throws {
        try await makeOldPartition(of: "payload", days: days)
        try await enqueueLarge()
        try await execute(Statement("update errand.payload set day = day - \(days)"))
        try await execute(Statement("update errand.job set payload_day = payload_day - \(days)"))
    }

    fileprivate func makeOldPartition(of table: String, days: Int) async throws {
        let bounds = table == "payload" ? "in (%2$L)" : "from (%2$L) to (%3$L)"
        try await execute(
            Statement(
                """
                do $$
                declare
                    day date := (now() at time zone 'UTC')::date - \(days);
                begin
                    execute format(
                        'create table errand.\(table)_%1$s partition of errand.\(table) for values \(bounds)',
                        to_char(day, 'YYYYMMDD'), day, day + 1);
                    execute format('alter table errand.\(table)_%1$s owner to errand_owner', to_char(day, 'YYYYMMDD'));
                end
                $$
                """))
    }

    fileprivate func dropPartitions() async throws {
        while try await query("select errand_internal.drop_partition()").scalar(Bool.self) {}
    }
}
