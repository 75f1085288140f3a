import ErrandTestKit
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("Claims that fail") struct ClaimFaultTests {
    @Test("completions are written while claims fail, and claims continue afterwards")
    func completions() async throws {
        let isOpen = Mutex(false)
        let handler = SlowHandler { _ in
            while !isOpen.withLock(\.self) { try await Task.sleep(for: .milliseconds(5)) }
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(all: [Slow](repeating: Slow(), count: 8))
            #expect(try await database.becomes("(select count(*) from errand.job where state = 'running') = 8"))
            // The claim reads this table, the completions don't.
            try await database.execute("alter table errand.rate rename to hidden")
            try await queue.enqueue(Slow())
            isOpen.withLock { $0 = true }
            #expect(try await database.becomes("(select count(*) from errand.history) = 8"))
            try await Task.sleep(for: .seconds(1))
            #expect(try await database.count("from errand.failed") == 0)
            #expect(try await database.count("from errand.job where state = 'available'") == 1)
            try await database.execute("alter table errand.hidden rename to rate")
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 9)
        }
    }

    @Test("an outcome that can't be written for now is no failure of its job, and is written once it can be")
    func refusedForNow() async throws {
        let isOpen = Mutex(false)
        let handler = SlowHandler { _ in
            while !isOpen.withLock(\.self) { try await Task.sleep(for: .milliseconds(5)) }
        }
        let finish = "function errand_internal.finish_v1(bigint, bigint[], bigint[], jsonb[])"
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(Slow())
            #expect(try await database.becomes("(select count(*) from errand.job where state = 'running') = 1"))
            try await database.execute(Statement("alter \(finish) rename to hidden"))
            isOpen.withLock { $0 = true }
            try await Task.sleep(for: .seconds(1))
            #expect(try await database.count("from errand.job where state = 'running'") == 1)
            try await database.execute(
                Statement("alter \(finish.replacing("finish_v1", with: "hidden")) rename to finish_v1"))
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 1)
        }
    }

    @Test("while a rate has no room, a backlog is not claimed from over and over")
    func noRoom() async throws {
        let trips = Mutex(0)
        try await withWorker([SlowHandler { _ in try await Task.sleep(for: .seconds(60)) }]) {
            $0.queues = ["default": 100]
            $0.batch = 10
            $0.grace = .zero
            $0.onRoundTrip = { _ in trips.withLock { $0 += 1 } }
        } _: { database, queue in
            try await database.execute("select errand.set_rate('default', '1 hour', 40)")
            try await queue.enqueue(all: [Slow](repeating: Slow(), count: 90))
            #expect(try await database.becomes("(select count(*) from errand.job where state = 'running') = 40"))
            let before = trips.withLock(\.self)
            try await Task.sleep(for: .milliseconds(500))
            #expect(trips.withLock(\.self) - before <= 20)
        }
    }

    @Test("jobs of a claim that is under way at the stop don't begin, and are handed back uncounted")
    func stopWhileClaiming() async throws {
        try await withTestDatabase(connections: 4) { database, _ in
            var configuration = WorkerConfiguration.withoutMaintenance
            configuration.grace = .seconds(60)
            let hasBegun = Mutex(false)
            let worker = Worker(
                database: database, configuration: configuration, logger: Logger(label: "worker"),
                handlers: Handlers([
                    SlowHandler { _ in
                        hasBegun.withLock { $0 = true }
                        try await Task.sleep(for: .seconds(60))
                    }
                ]))
            let running = Task { try await worker.run() }
            #expect(try await database.becomes("exists (select from errand.worker)"))
            let start = ContinuousClock.now
            try await database.transaction { transaction in
                // A claim writes its record last.
                try await transaction.execute("lock table errand.claim in exclusive mode")
                try await Queue(database: database).enqueue(Slow())
                #expect(
                    try await database.becomes(
                        """
                        exists (
                            select from pg_locks where not granted and relation = 'errand.claim'::regclass)
                        """))
                worker.stop()
            }
            try await running.value
            #expect(ContinuousClock.now - start < .seconds(20) && !hasBegun.withLock(\.self))
            #expect(try await database.count("from errand.job where state = 'available' and attempt = 0") == 1)
        }
    }

    @Test("an outcome whose commit the server refuses is written again until the server accepts it")
    func refusedCommit() async throws {
        try await withWorker([ProbeHandler { _, _ in .fail(reason: "broken") }]) { database, queue in
            try await database.execute("create sequence public.tries")
            try await database.execute(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin
                    perform nextval('public.tries');
                    raise exception 'refused at commit';
                end
                $$
                """)
            try await database.execute(
                """
                create constraint trigger refuse after insert on errand.failed deferrable initially deferred
                for each row execute function public.refuse()
                """)
            try await queue.enqueue(Probe())
            #expect(try await database.becomes("last_value >= 3 from public.tries"))
            #expect(try await database.count("from errand.job where state = 'running'") == 1)
            try await database.execute("drop trigger refuse on errand.failed")
            #expect(try await database.drains())
            #expect(try await database.count("from errand.failed") == 1)
        }
    }

    @Test("a claim whose reply can't be read at all leaves no job running")
    func unreadableReply() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 20))
            let arguments = try #require(
                try await database.word(
                    "select pg_get_function_identity_arguments('errand_internal.claim_v1'::regproc)"))
            let types = try #require(
                try await database.word(
                    """
                    select string_agg(format('$%s', ordinal), ', ')
                    from generate_series(1, (select pronargs from pg_proc where oid = 'errand_internal.claim_v1'::regproc)) as ordinal
                    """))
            try await database.execute("create schema hidden")
            try await database.execute("alter function errand_internal.claim_v1 set schema hidden")
            // A reply of another version, with too few columns.
            try await database.execute(
                Statement(
                    """
                    create function errand_internal.claim_v1(\(arguments)) returns table (id bigint, queue_position bigint)
                    language sql security definer as $$ select id, queue_position from hidden.claim_v1(\(types)) $$
                    """))
            var configuration = WorkerConfiguration.withoutMaintenance
            configuration.grace = .seconds(2)
            let worker = Worker(
                database: database, configuration: configuration, logger: Logger(label: "worker"),
                handlers: Handlers([]))
            let running = Task { try await worker.run() }
            #expect(
                try await database.becomes("coalesce(max(id) >= 2, false) from errand.worker", within: .seconds(20)))
            running.cancel()
            try await running.value
            #expect(try await database.count("from errand.job where state = 'available' and attempt = 0") == 20)
        }
    }

    @Test("a claim that times out is followed by smaller ones")
    func tooSlow() async throws {
        try await withTestDatabase { database, configuration in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 12))
            // A claim of ten jobs or more times out.
            try await database.execute(
                """
                create function public.wait() returns trigger language plpgsql as $$
                begin
                    if new.state = 'running' then perform pg_sleep(0.1); end if;
                    return new;
                end $$
                """)
            try await database.execute(
                """
                create trigger wait before update on errand.job
                for each row execute function public.wait()
                """)
            var short = configuration
            short.statementTimeout = .seconds(1)
            let own = Database(configuration: short, logger: Logger(label: "database"))
            let worker = Worker(
                database: own, configuration: .withoutMaintenance, logger: Logger(label: "worker"),
                handlers: Handlers([]))
            let running = Task { try await worker.run() }
            #expect(try await database.becomes("(select count(*) from errand.history) = 12", within: .seconds(30)))
            worker.stop()
            try await running.value
            await own.close()
        }
    }

    @Test("a worker id of a lost claim keeps its lease while no new one can be registered")
    func retiring() async throws {
        let isOpen = Mutex(false)
        let handler = SlowHandler { _ in
            while !isOpen.withLock(\.self) { try await Task.sleep(for: .milliseconds(5)) }
        }
        try await withWorker([handler], configure: { $0.heartbeatInterval = .milliseconds(100) }) { database, queue in
            try await queue.enqueue(Slow())
            #expect(try await database.becomes("exists (select from errand.job where state = 'running')"))
            try await database.makeSlowGuard("select pg_sleep(600) is not null")
            try await database.execute("select errand.put_guard('slow', 'public.slow')")
            try await database.execute("alter function errand_internal.register_worker_v1 rename to hidden")
            let id = try await database.query("select max(id) from errand.worker").scalar(Int64.self)
            // A claim whose connection breaks: its worker id is uncertain from now on.
            try await queue.enqueue(Noop(), .guarded(by: "slow"))
            let isCut = """
                coalesce((
                    select bool_or(pg_terminate_backend(pid)) from pg_stat_activity
                    where datname = current_database() and wait_event = 'PgSleep'), false)
                """
            #expect(try await database.becomes(isCut))
            try await database.makeSlowGuard("select true")
            for _ in 0..<5 {
                let before = try await database.word("clock_timestamp()") ?? ""
                #expect(try await database.becomes("heartbeat_at > '\(before)' from errand.worker where id = \(id)"))
                try await Task.sleep(for: .milliseconds(400))
            }
            try await database.execute("alter function errand_internal.hidden rename to register_worker_v1")
            isOpen.withLock { $0 = true }
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where crashes = 0 and attempt = 1") == 2)
            #expect(try await database.count("from errand.worker where id <> \(id)") == 1)
        }
    }
}

extension Database {
    /// Creates or replaces the guard function `public.slow`.
    fileprivate func makeSlowGuard(_ body: String) async throws {
        try await execute(
            Statement(
                """
                create or replace function public.slow(payload jsonb) returns boolean
                language sql stable security definer set search_path = pg_catalog, pg_temp as $$ \(body) $$
                """))
    }
}
