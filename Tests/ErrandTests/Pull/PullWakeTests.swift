import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("How workers that pull wake up") struct PullWakeTests {
    private let flag = "select last_value from errand.wake_flag"

    @Test(
        "after a pull that listens and finds nothing an enqueue notifies, and not after one that gets all it asked for")
    func notified() async throws {
        try await withTestDatabase { database, configuration in
            // A pooler in transaction mode forwards no notifications.
            let configuration = try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true))
            let listener = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
            try await listener.listen("errand_wake")
            let worker = try await PullingWorker(database)
            #expect(try await worker.pull() == [])
            try await database.execute("select errand.enqueue('noop')")
            #expect(try await database.text(flag) == "1")
            #expect(try await worker.pull().count == 1)
            #expect(try await worker.pull(1, "running => null, listens => true") == [])
            #expect(try await database.text(flag) == "2")
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 3)")
            // It goes on to listen, since it may sleep.
            #expect(try await worker.pull(5, "running => null, listens => true").count == 3)
            #expect(try await database.text(flag) == "2")
            try await database.execute("select errand.enqueue('noop')")
            #expect(try await worker.pull(1, "running => null, listens => true").count == 1)
            #expect(try await database.text(flag) == "1")
            try await database.execute("select errand.enqueue('noop')")
            try await database.execute("select pg_notify('errand_wake', 'last')")
            var payloads: [String] = []
            for await notification in listener.notifications {
                payloads.append(notification.payload)
                if notification.payload == "last" { break }
            }
            #expect(payloads == ["", "", "lowered", "last"])
            await listener.close()
        }
    }

    @Test(
        "a pull that listens finds what was enqueued after its scan and before the flag, also one that another raised",
        .enabled(if: !TestServer.isPooled, "behind a pooler in transaction mode a lock of a session is anybody's"),
        arguments: [false, true])
    func between(another: Bool) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            // A claim that has found nothing waits for the lock that the test holds.
            for setup: Statement in [
                "alter function errand_internal.empty_claim rename to empty_claim_before",
                """
                do $do$
                begin
                    execute format(
                        $create$
                        create function errand_internal.empty_claim(%s) returns %s language plpgsql as $$
                        begin
                            perform pg_advisory_xact_lock_shared(4711);
                            return query select * from errand_internal.empty_claim_before($1, $2, $3, $4, $5, $6);
                        end
                        $$
                        $create$, pg_get_function_arguments(existing), pg_get_function_result(existing))
                    from (select 'errand_internal.empty_claim_before'::regproc::oid) as one(existing);
                end
                $do$
                """,
            ] {
                try await database.execute(setup)
            }
            let gate = try await database.session()
            try await gate.execute("select pg_advisory_lock(4711)")
            async let pulled = worker.pull(1, "running => null, listens => true")
            #expect(
                try await database.becomes("exists (select from pg_locks where locktype = 'advisory' and not granted)"))
            try await database.execute("select errand.enqueue('noop')")
            if another { try await database.execute("select errand_internal.set_wake_flag_v1(true)") }
            try await gate.execute("select pg_advisory_unlock(4711)")
            #expect(try await pulled.count == 1)
            await gate.close()
        }
    }

    @Test(
        "the caller's transaction commits as it asks for, whatever the call did",
        arguments: ["on", "off", "local", "remote_write"])
    func commits(setting: String) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 4)")
            let jobs = try await worker.pull(2)
            let calls = [
                worker.call(), worker.call(1, "running => null, listens => true"),
                worker.call(9, "running => null, listens => true"), "errand.report('\(jobs[0].token)', 0.5)",
                "errand.renew('\(worker.id)', '{\(jobs[0].token)}')", "errand.done('{\(jobs[0].token)}')",
                "errand.fail('{\(jobs[1].token)}', '{x}')", "errand.put_kind('a')", "errand.leave('\(worker.id)')",
            ]
            try await database.transaction { transaction in
                try await transaction.execute(Statement("set local synchronous_commit = '\(setting)'"))
                for call in calls {
                    try await transaction.execute(Statement("select \(call)"))
                    let now = try await transaction.query("show synchronous_commit").scalar(String.self)
                    #expect(now == setting, "\(call)")
                }
            }
            #expect(try await database.text(flag) == "1")
        }
    }
}
