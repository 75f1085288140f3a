import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

/// An update of the time-zone data, which older sessions of the database don't see.
@Suite("Two sessions with different time-zone files", .enabled(if: geteuid() == 0))
struct ZoneFileTests {
    @Test("a daily schedule ticks once a day, whichever of them records it", arguments: [-2, 2])
    func daily(seconds: Int) async throws {
        let zones = FileManager.default.temporaryDirectory.appendingPathComponent("zones-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: zones) }
        try await shell("cp -a /usr/share/zoneinfo '\(zones.path)' && chmod 755 '\(zones.path)'")
        try await write(offset: 3600, in: zones)
        let cluster = try await KillableCluster.migrated(zones: zones)
        do {
            try await tick(in: cluster, to: 3600 + seconds, zones: zones)
        } catch {
            try? await cluster.drop()
            throw error
        }
        try await cluster.drop()
    }

    private func tick(in cluster: KillableCluster, to offset: Int, zones: URL) async throws {
        let configuration = try PostgresConfiguration(url: try await cluster.url())
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let older = try await Connection.connect(configuration, logger: logger)
        try await older.execute("delete from errand.schedule")
        // In five seconds by the rules that this session has read.
        try await older.execute(
            """
            select errand.put_schedule(
                'daily', to_char((now() + interval '5 s') at time zone 'Test/Land', 'FMSS FMMI FMHH24') || ' * * *', 'noop',
                time_zone => 'Test/Land')
            """)
        try await write(offset: offset, in: zones)
        let newer = try await Connection.connect(configuration, logger: logger)
        let clock: Statement = """
            select extract(epoch from now() at time zone 'Test/Land' - now() at time zone 'UTC')::int8
            """
        #expect(try await older.query(clock).scalar(Int.self) == 3600)
        #expect(try await newer.query(clock).scalar(Int.self) == offset)
        let end = ContinuousClock.now + .seconds(8)
        while .now < end {
            for session in [older, newer] {
                // Each plans anew by its own rules.
                try await session.execute("update errand.schedule_plan set renew_at = now()")
                try await session.execute("update errand.schedule set due_at = now()")
                try await session.execute("select errand.tick_schedules()")
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        let ticks = try await newer.query("select outcome || ' ' || (job_id is not null) from errand.tick")
            .column(0, as: String.self)
        #expect(ticks == ["enqueued true"])
        let isTomorrow = "select next_tick > now() + interval '23 hours' from errand.schedules"
        #expect(try await newer.query(Statement(isTomorrow)).scalar(Bool.self))
        await older.close()
        await newer.close()
    }

    /// The file of the zone Test/Land, whose clock is this many seconds ahead of UTC. PostgreSQL refuses as `timezone`
    /// a zone that was no whole minute ahead in 2000.
    private func write(offset: Int, in zones: URL) async throws {
        let time = String(format: "%d:%02d:%02d", offset / 3600, offset / 60 % 60, offset % 60)
        try await shell(
            """
            mkdir -p '\(zones.path)/Test'
            printf 'Zone Land 1:00 - TST 2020\\n %s - TST\\n' '\(time)' | PATH=$PATH:/usr/sbin zic -d '\(zones.path)/Test.new' -
            mv '\(zones.path)/Test.new/Land' '\(zones.path)/Test/Land'
            chmod 644 '\(zones.path)/Test/Land'
            """)
    }
}
