import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Guards") struct GuardTests {
    @Test("a job whose guard returns false is obsolete at the claim and never starts; another one runs")
    func atTheClaim() async throws {
        try await withTestDatabase { database, _ in
            try await database.makeGuard()
            try await database.execute("insert into public.open values (1)")
            for id in 1...2 {
                try await database.execute(
                    Statement("select errand.enqueue('noop', jsonb_build_object('id', $1), guard => 'wanted')", [id]))
            }
            let jobs = try await ManualWorker(database).claim(10)
            #expect(jobs.map(\.id) == [1])
            #expect(jobs.first?.options?.guardName == "wanted")
            #expect(
                try await database.word("select reason from errand.history where state = 'obsolete' and attempt = 0")
                    == "guard wanted said no")
        }
    }

    @Test("a guard is asked again at the end: a job that is no longer wanted is obsolete, not succeeded")
    func atTheEnd() async throws {
        try await withTestDatabase { database, _ in
            try await database.makeGuard()
            try await database.execute("insert into public.open values (1), (2), (3)")
            for id in 1...3 {
                try await database.execute(
                    Statement("select errand.enqueue('noop', jsonb_build_object('id', $1), guard => 'wanted')", [id]))
            }
            let worker = try await ManualWorker(database)
            let jobs = try await worker.claim(10).sorted { $0.id < $1.id }
            try #require(jobs.count == 3)
            try await database.execute("delete from public.open where id < 3")
            #expect(try await worker.end([jobs[0], jobs[2]]) == [])
            #expect(try await worker.end([jobs[1]], as: { .retried($0, error: "broken", after: .zero) }) == [])
            #expect(
                try await database.word("select string_agg(state, ' ' order by id) from errand.history")
                    == "obsolete obsolete succeeded")
        }
    }

    @Test("a guard that raises an error uses its own job's attempts, and blocks no other job")
    func raising() async throws {
        try await withTestDatabase { database, _ in
            try await database.makeGuard()
            try await database.execute(
                #"select errand.enqueue('noop', '{"id": "x"}', guard => 'wanted', max_attempts => 2)"#)
            try await Queue(database: database).enqueue(Noop())
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(10).map(\.id) == [2])
            #expect(try await database.count("from errand.job where state = 'scheduled' and attempt = 1") == 1)
            try await database.execute("update errand.job set run_at = now() where state = 'scheduled'")
            try await database.promote()
            #expect(try await worker.claim(10).isEmpty)
            #expect(
                try await database.word("select error from errand.failed")
                    == #"guard wanted: invalid input syntax for type integer: "x" [22P02]"#)
        }
    }

    @Test("a guard whose assertion fails uses its own job's attempt, and blocks no other job")
    func asserting() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                create function public.asserts(payload jsonb) returns boolean language plpgsql stable
                set search_path = pg_catalog, pg_temp as $$ begin assert false, 'broken'; return true; end $$
                """)
            try await database.execute("select errand.put_guard('asserts', 'public.asserts')")
            try await Queue(database: database).enqueue(Noop(), .guarded(by: "asserts"), .maxAttempts(1))
            try await Queue(database: database).enqueue(Noop())
            #expect(try await ManualWorker(database).claim(10).map(\.id) == [2])
            #expect(
                try await database.word("select error from errand.failed") == "guard asserts: broken [P0004]")
        }
    }

    @Test("a guard whose assertion fails at the completion does not roll back the job's writes")
    func assertingAtTheEnd() async throws {
        try await withTestDatabase { database, _ in
            try await database.makeGuard()
            try await database.execute("insert into public.open values (1)")
            try await database.execute(#"select errand.enqueue('noop', '{"id": 1}', guard => 'wanted')"#)
            let worker = try await ManualWorker(database)
            let jobs = try await worker.claim(1)
            try await database.execute(
                """
                create or replace function public.wanted(payload jsonb) returns boolean language plpgsql stable
                set search_path = pg_catalog, pg_temp as $$ begin assert false, 'broken'; return true; end $$
                """)
            #expect(try await worker.end(jobs) == [])
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 1)
        }
    }

    @Test(
        "claims and outcomes get through though their guards take longer than a statement may, and health names the guard"
    )
    func slow() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute(
                """
                create function public.crawls(payload jsonb) returns boolean language sql stable
                set search_path = pg_catalog, pg_temp as $$ select pg_sleep(0.02) is not null $$
                """)
            try await database.execute("select errand.put_guard('crawls', 'public.crawls')")
            try await Queue(database: database).enqueue(
                all: [Noop](repeating: Noop(), count: 100), .guarded(by: "crawls"))
            var limited = configuration
            limited.statementTimeout = .milliseconds(1500)
            let quick = Database(
                configuration: limited, maximumConnections: 2, waitLimit: .seconds(60), logger: .init(label: "test"))
            let worker = ManualWorker(quick, id: try await ManualWorker(database).id)
            var ended = 0
            while ended < 100 {
                let claim = worker.claiming(200)
                let reply = try claim.reply(await quick.query(claim.statement))
                let isLast = ended + reply.jobs.count == 100
                #expect(!reply.jobs.isEmpty)
                #expect(isLast || reply.rest == .more && reply.observation?.high == 0)
                if reply.jobs.isEmpty { break }
                ended += reply.jobs.count
                #expect(try await worker.end(reply.jobs) == [])
            }
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 100)
            #expect(try await database.count("from errand.guard where slow_ms >= 20") == 1)
            #expect(
                try await database.word(
                    "select detail like 'crawls takes % ms a call%' from errand.health() where check_name = 'guards' and not ok"
                )
                    == "true")
            await quick.close()
        }
    }

    @Test("outcomes of 100 jobs with a slow guard are written in small batches, each once")
    func slowAtTheEnd() async throws {
        try await withTestDatabase { database, _ in
            try await database.makeGuard()
            try await database.execute("insert into public.open values (1)")
            try await database.execute(
                #"select errand.enqueue('noop', '{"id": 1}', guard => 'wanted') from generate_series(1, 100)"#)
            let worker = try await ManualWorker(database)
            let jobs = try await worker.claim(100)
            try #require(jobs.count == 100)
            try await database.execute(
                """
                create or replace function public.wanted(payload jsonb) returns boolean language sql stable
                set search_path = pg_catalog, pg_temp as $$ select pg_sleep(0.02) is not null $$
                """)
            let ends = jobs.map { Completion.succeeded($0) }
            let written = try CompletionReply([await database.query(Completion.statements(for: ends)[0])])
            #expect(written.refused == [] && (1..<100).contains(written.locked.count))
            let left = jobs.filter { written.locked.contains($0.id) }
            #expect(try await worker.end(left) == [])
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 100)
        }
    }

    @Test(
        "only a function that reads and returns a boolean can be a guard",
        arguments: [
            ("public.nothing", "ER404"), ("public.writes", "ER422"), ("public.counts", "ER422"),
            ("public.wanted); drop table public.open; --", "ER404"),
        ])
    func registering(function: String, state: String) async throws {
        try await withTestDatabase { database, _ in
            try await database.makeGuard()
            try await database.execute(
                "create function public.writes(jsonb) returns boolean language sql volatile as 'select true'")
            try await database.execute(
                "create function public.counts(jsonb) returns int language sql stable as 'select 1'")
            let before = try await database.count("from errand.guard")
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute(Statement("select errand.put_guard('other', $1)", [function]))
            }
            #expect(error?.sqlState == state)
            #expect(try await database.count("from errand.guard") == before)
        }
    }

    @Test("a guard in a schema that errand_owner may not use is refused with the right that is missing")
    func registeringElsewhere() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("create schema shop")
            try await database.execute(
                "create function shop.wanted(jsonb) returns boolean language sql stable as 'select true'")
            let register: Statement = "select errand.put_guard('wanted', 'shop.wanted')"
            let error = await #expect(throws: PostgresError.self) { try await database.execute(register) }
            #expect(error?.sqlState == "42501")
            #expect(error?.detail.hasSuffix("permission denied for schema shop") == true)
            #expect(error?.hint == "Have its owner run: grant usage on schema … to errand_owner")
            try await database.execute("grant usage on schema shop to errand_owner")
            try await database.execute(register)
            try await database.execute("select errand.enqueue('noop', guard => 'wanted')")
            #expect(try await ManualWorker(database).claim(1).count == 1)
        }
    }
}
