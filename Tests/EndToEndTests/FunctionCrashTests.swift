import ErrandTestKit
import Foundation
import Logging
import Postgres
import StorageKit
import Testing

@Suite("SQL functions as handlers while everything is killed", .serialized) struct FunctionCrashTests {
    private let jobs = Hardness.isFull ? 10_000 : 2_000

    @Test("kill -9 of workers and server, and cut connections: each effect and each completion is there exactly once")
    func exactlyOnce() async throws {
        try await withOwnServer { cluster, database in
            try await database.execute("create role shop")
            try await database.execute("create schema shop authorization shop")
            try await database.execute("grant usage on schema shop to errand_owner")
            try await database.execute("grant usage on schema errand to shop")
            try await database.execute("grant usage on type errand.outcome to shop")
            try await database.execute("create table shop.effect (job int, step int)")
            try await database.execute("alter table shop.effect owner to shop")
            // Two steps each, so that kills come between them too.
            try await database.execute(
                """
                create function shop.work(payload jsonb, state jsonb) returns errand.outcome
                language plpgsql security definer set search_path = pg_catalog, pg_temp as $f$
                begin
                    insert into shop.effect values ((payload ->> 'n')::int, case when state is null then 1 else 2 end);
                    perform pg_sleep(0.002);
                    if state is null then return row('again', null, null, null, '1')::errand.outcome; end if;
                    return null;
                end
                $f$
                """)
            try await database.execute("alter function shop.work owner to shop")
            try await database.execute("select errand.put_handler('work', 'shop.work', max_attempts => 100)")
            try await database.execute(
                Statement(
                    "select errand.enqueue('work', jsonb_build_object('n', n)) from generate_series(1, $1::int) as n",
                    [jobs]))
            let url = try await cluster.url()
            let settings = Hardness.settings.merging(
                ["ERRAND_QUEUES": "default=20", "ERRAND_FUNCTION_CONNECTIONS": "8"]) { _, new in new }
            var workers = try (0..<2).map { _ in try Program(["worker"], database: url, settings: settings) }
            var killed: [Program] = []
            var kills: [String: Int] = [:]
            var victims: [String] = []
            while kills.values.reduce(0, +) < (Hardness.isFull ? 40 : 6) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 300...900)))
                if victims.isEmpty { victims = ["server", "connections", "worker"].shuffled() }
                let victim = victims.removeLast()
                kills[victim, default: 0] += 1
                switch victim {
                case "server":
                    try cluster.kill()
                    try await cluster.start()
                case "connections":
                    _ = try? await database.execute(
                        """
                        select pg_terminate_backend(pid)
                        from pg_stat_activity
                        where datname = current_database() and pid <> pg_backend_pid()
                        """)
                default:
                    let index = Int.random(in: 0..<2)
                    workers[index].send(SIGKILL)
                    killed.append(workers[index])
                    workers[index] = try Program(["worker"], database: url, settings: settings)
                }
            }
            let left = try await database.count("from errand.job")
            for worker in killed { try await database.rescueJobs(of: worker) }
            #expect(
                try await database.becomes(
                    withoutDelays: "not exists (select from errand.job)", within: Hardness.rescue + .seconds(120)))
            print("kills: \(kills); \(left) of \(jobs) jobs were left then")
            #expect(kills.count == 3)
            #expect(try await database.count("from errand.history where state = 'succeeded'") == jobs)
            #expect(try await database.count("from errand.failed") == 0)
            #expect(try await database.count("from shop.effect") == 2 * jobs)
            #expect(try await database.count("from (select distinct job, step from shop.effect) as one") == 2 * jobs)
            for worker in workers {
                worker.send(SIGTERM)
                #expect(try await worker.exit() == 0)
            }
        }
    }
}
