import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

@Suite("Copies of a database, and failover", .serialized) struct CopiedDatabaseTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func database(_ url: String) throws -> Database {
        Database(configuration: try PostgresConfiguration(url: url), maximumConnections: 1, logger: Self.logger)
    }

    /// Enqueues three jobs and a schedule that ticks each second.
    private func fill(_ url: String) async throws {
        let original = try database(url)
        for _ in 0..<3 { try await original.execute("select errand.enqueue('noop')") }
        try await original.execute("select errand.put_schedule('often', 'every 1 s', 'noop')")
        await original.close()
    }

    @Test("a copy by createdb or a dump runs no jobs until it is adopted, and reports that; the original continues")
    func copies() async throws {
        // The other one is no copy of the same cluster.
        async let fresh = KillableCluster()
        let (cluster, other) = (try await KillableCluster.migrated(), try await fresh)
        let url = try await cluster.url()
        try await fill(url)
        let elsewhere = try await other.url()
        // The same name in another cluster, another name in the same one, by both ways. Each restore commits once,
        // because this server syncs.
        try await shell(
            """
            pg_dumpall --roles-only --dbname '\(url)' | grep -v 'ROLE postgres' | psql -q '\(elsewhere)' > /dev/null
            psql -q '\(url)' -c 'create database dumped'
            dump=$(mktemp)
            pg_dump '\(url)' > $dump
            restore() { psql -q -1 -v ON_ERROR_STOP=1 -f $dump "$1" > /dev/null; }
            restore '\(elsewhere)' & other=$!
            restore '\(url.replacing("/errand?", with: "/dumped?"))'
            wait $other
            rm $dump
            psql -q '\(url.replacing("/errand?", with: "/postgres?"))' -c 'create database templated template errand'
            """)
        let copies = [
            elsewhere, url.replacing("/errand?", with: "/dumped?"), url.replacing("/errand?", with: "/templated?"),
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for copy in copies { group.addTask { try await expectIdleUntilAdopted(copy) } }
            try await group.waitForAll()
        }
        let original = try Program(["run"], database: url)
        #expect(try await original.writes("registered"))
        let database = try database(url)
        #expect(try await database.becomes("count(*) >= 3 from errand.history", within: .seconds(60)))
        original.send(SIGTERM)
        #expect(try await original.exit() == 0)
        await database.close()
        try await cluster.drop()
        try await other.drop()
    }

    private func expectIdleUntilAdopted(_ copy: String) async throws {
        let runs = try Program(["run"], database: copy)
        #expect(try await runs.writes("this database is a copy of errand (oid "))
        try await Task.sleep(for: .seconds(Hardness.isFull ? 3 : 1))
        let database = try database(copy)
        #expect(try await database.count("from errand.job where state = 'available'") == 3)
        #expect(try await database.count("from errand.worker") == 0)
        #expect(try await database.count("from errand.tick") == 0)
        #expect(runs.output.split(separator: "\n").filter { $0.contains("waiting for the database") }.count == 1)
        let doctor = try Program(["doctor", "--as", "scheduler"], database: copy)
        #expect(try await doctor.exit() == 78)
        #expect(doctor.output.contains("FAIL  home"))
        #expect(doctor.output.contains("select errand.adopt('…')"))
        let migrate = try Program(["migrate"], database: copy)
        #expect(try await migrate.exit() == 0)
        #expect(migrate.output.contains("warning: nothing is claimed or scheduled here: this database is a copy"))
        try await database.execute("select errand.adopt('a test')")
        #expect(try await database.becomes("count(*) >= 3 from errand.history", within: .seconds(60)))
        #expect(try await database.becomes("exists (select from errand.tick)", within: .seconds(60)))
        runs.send(SIGTERM)
        #expect(try await runs.exit() == 0, "\(runs.output)")
        await database.close()
    }

    @Test("a worker on a standby waits with one line; once that is promoted it works, without being adopted")
    func promoted() async throws {
        let primary = try await KillableCluster.migrated()
        let url = try await primary.url()
        try await fill(url)
        let standby = try await KillableCluster(copying: primary)
        let standbyURL = try await standby.url()

        let doctor = try Program(["doctor", "--as", "scheduler"], database: standbyURL)
        #expect(try await doctor.exit() == 78)
        #expect(doctor.output.contains("the server is a standby, which accepts no writes until it is promoted"))
        #expect(doctor.output.split(separator: "\n").filter { $0.hasPrefix("FAIL") }.count == 1, "\(doctor.output)")
        let worker = try Program(["doctor", "--as", "worker"], database: standbyURL)
        #expect(try await worker.exit() == 78)
        #expect(!worker.output.contains("wake-ups"))
        let monitor = try Program(["doctor", "--as", "monitor"], database: standbyURL)
        #expect(try await monitor.exit() == 0, "\(monitor.output)")

        let runs = try Program(["run"], database: standbyURL)
        #expect(try await runs.writes("waiting for the database"))
        try await Task.sleep(for: .seconds(Hardness.isFull ? 5 : 1))
        #expect(
            runs.output.split(separator: "\n").filter { $0.contains("waiting for the database") }.count == 1,
            "\(runs.output)")
        #expect(!runs.output.contains("heartbeat failed"))
        try primary.kill()
        try await shell("psql -q '\(standbyURL)' -c 'select pg_promote()' > /dev/null")
        #expect(try await runs.writes("registered"), "\(runs.output)")
        let database = try database(standbyURL)
        #expect(try await database.becomes("count(*) >= 3 from errand.history", within: .seconds(60)))
        #expect(try await database.query("select errand.copy_of() is null").scalar(Bool.self))
        runs.send(SIGTERM)
        #expect(try await runs.exit() == 0)
        await database.close()
        try await standby.drop()
        try await primary.drop()
    }

    @Test("/readyz of `errand web` fails if its user may not read the metrics")
    func mayNotRead() async throws {
        let cluster = try await KillableCluster.migrated()
        let url = try await cluster.url()
        for (role, expected) in [
            ("errand_monitor", "ok metrics"),
            ("errand_enqueuer", "failed metrics: the database user may not read them: have `grant errand_monitor"),
        ] {
            let web = try Program(
                ["web"], database: url + "&options=-c%20role%3D\(role)",
                settings: ["ERRAND_WEB_ADDRESS": "127.0.0.1:0"])
            #expect(try await web.response("readyz").contains(expected))
            web.send(SIGTERM)
            #expect(try await web.exit() == 0)
        }
        try await cluster.drop()
    }
}
