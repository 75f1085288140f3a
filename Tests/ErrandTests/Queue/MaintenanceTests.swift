import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("The history's partitions") struct MaintenanceTests {
    @Test("partitions are made ahead and dropped when their time is over, and a second run does nothing")
    func partitions() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                do $$ begin execute format(
                    'create table errand.history_%s partition of errand.history for values from (%L) to (%L)',
                    to_char(current_date - 20, 'YYYYMMDD'), current_date - 20, current_date - 19); end $$
                """)
            let first = try await database.query("select made, dropped from errand.maintain_v1(7, 30, 6)")
            #expect(try first[0].decode(Int.self, Int.self) == (3, 1))
            let second = try await database.query("select made, dropped from errand.maintain_v1(7, 30, 6)")
            #expect(try second[0].decode(Int.self, Int.self) == (0, 0))
        }
    }

    @Test("a job ends even where the partition of its day is missing, and that day gets no partition later")
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
            let made = try await database.query("select made from errand.maintain_v1(7, 30, 3)").scalar(Int32.self)
            #expect(made == 3)
        }
    }

    @Test("old failures are forgotten, younger ones stay")
    func failures() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.failed (
                    id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error)
                select n, now(), now(), now() - n * interval '10 days', 2, 1, 1, 0, 'default', 'noop', '{}', 'test'
                from generate_series(1, 4) as n
                """)
            try await database.execute("select errand.maintain_v1()")
            #expect(try await database.count("from errand.failed") == 2)
        }
    }
}
