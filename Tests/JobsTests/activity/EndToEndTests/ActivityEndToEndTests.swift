import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import PushKit
import Synchronization
import Testing

@Suite("Live Activities from their start to the stub of APNs", .serialized) struct ActivityEndToEndTests {
    @Test("ends arrive once when they are due, and killed workers lose none")
    func killed() async throws {
        let count = Hardness.isFull ? 10_000 : 150
        let span = Hardness.isFull ? Duration.seconds(60) : .seconds(3)
        try await withAppDatabase { database, configuration in
            let fixture = try await PushFixture(database, configuration)
            var workers = [try fixture.worker(), try fixture.worker()]
            try await fixture.start(count, dueIn: Hardness.isFull ? .seconds(20) : .seconds(1), over: span)
            // They are killed while they run jobs: running jobs are at risk. A third kill could be the third crash of
            // the one job that its worker runs, which fails such a job for good.
            var running = 0
            for part in 1...2 {
                #expect(
                    try await database.becomes(
                        "count(*) >= \(count * part / 3) from errand.history where kind = 'activity_end'",
                        within: .seconds(120)))
                workers[0].send(SIGKILL)
                #expect(try await workers[0].exit() == -SIGKILL)
                running += try await database.count("from errand.job where state = 'running'")
                try await database.rescueJobs(of: workers.removeFirst())
                workers.append(try fixture.worker())
            }
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job where kind = 'activity_end')",
                    within: Hardness.rescue + .seconds(90)))
            let ends = fixture.ends
            let again = ends.values.reduce(0) { $0 + $1 - 1 }
            let delays = try await fixture.delays()
            let inTime = delays.filter { $0 <= 1 }.count
            print(
                """
                A1: \(ends.count) of \(count) ended, \(again) of at most \(running) twice; \(inTime) within 1 s of due, \
                p50 \(delays[delays.count / 2]) s, p99 \(delays[delays.count * 99 / 100]) s
                """)
            #expect(ends.count == count)
            #expect(again <= running)
            let failed = try await database.query("select error from errand.failed").column(0, as: String?.self)
            #expect(failed == [])
            #expect(try await database.count("from activity.activity where state <> 'ended'") == 0)
            if Hardness.isFull { #expect(count - inTime <= running) }
            try expectGrowingTimestamps(fixture)
            for worker in workers {
                worker.send(SIGTERM)
                #expect(try await worker.exit() == 0)
            }
        }
    }

    @Test("dead tokens end their activities at the first response, and no job of theirs is left")
    func dead() async throws {
        try await withAppDatabase { database, configuration in
            let count = 60
            let accepted = Mutex(0)
            let fixture = try await PushFixture(database, configuration) { request in
                switch (Int(request.token, radix: 16) ?? 0) % 3 {
                case 0: return .status(410, "Unregistered")
                // Before some were accepted, the settings may be wrong.
                case 1 where accepted.withLock(\.self) < 10: return .status(410, "Unregistered")
                case 1: return .status(400, "BadDeviceToken")
                default:
                    accepted.withLock { $0 += 1 }
                    return .accepted
                }
            }
            try await fixture.start(count, dueIn: .seconds(1))
            let worker = try fixture.worker()
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job where queue = 'pushes')", within: .seconds(60)))
            print(
                "F60: \(fixture.server.receipts.count) requests for \(count) activities, \(count * 2 / 3) of them dead")
            #expect(fixture.server.receipts.count == count)
            #expect(
                try await database.count(
                    "from activity.activity where end_reason like 'token gone: %' and token is null")
                    == count * 2 / 3)
            #expect(try await database.count("from errand.history where state = 'cancelled'") == count * 2 / 3)
            #expect(try await database.count("from errand.failed") == 0)
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }

    @Test("5xx, GOAWAY, resets and lost connections in the last minute: none lost, and none seen twice")
    func faults() async throws {
        let seen = Mutex([String: Int]())
        try await withAppDatabase { database, configuration in
            let count = Hardness.isFull ? 500 : 60
            let fixture = try await PushFixture(database, configuration) { request in
                let number = seen.withLock { seen in
                    seen[request.token, default: 0] += 1
                    return seen[request.token] ?? 0
                }
                guard number == 1 else { return .accepted }
                switch (Int(request.token, radix: 16) ?? 0) % 12 {
                case 0: return .status(503, "ServiceUnavailable")
                case 1: return .status(500, "InternalServerError")
                case 2: return .goAway
                case 3: return .reset(accepting: true)
                case 4: return .close(accepting: true)
                case 5: return .status(429, "TooManyRequests")
                default: return .after(.milliseconds(5), .accepted)
                }
            }
            try await fixture.start(count, dueIn: .seconds(1))
            let worker = try fixture.worker()
            #expect(
                try await database.becomes(
                    withoutDelays: "not exists (select from errand.job where queue = 'pushes')",
                    within: .seconds(70)))
            print("F62: \(fixture.ends.count) of \(count) ended over \(fixture.server.connections) connections")
            #expect(fixture.ends.count == count)
            #expect(try await database.count("from activity.activity where state = 'ended'") == count)
            try expectGrowingTimestamps(fixture)
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }

    @Test("a key that Apple doesn't take holds all pushes, spends nothing and raises an alarm; no key is ever shown")
    func wrongKey() async throws {
        try await withAppDatabase { database, configuration in
            let fixture = try await PushFixture(database, configuration)
            let other = try await PushServer()
            try await fixture.start(30, dueIn: .milliseconds(100))
            let wrong = try fixture.worker(["APNS_KEY": other.pem])
            #expect(
                try await database.becomes(
                    "(select count(*) from errand.job where state = 'parked' and attempt = 0) = 30",
                    within: .seconds(30)))
            print("F63: \(fixture.server.receipts.count) requests with the wrong key")
            #expect(
                try await database.count(
                    "from errand.health() where check_name = 'circuits' and not ok and detail like '%apns%'") == 1)
            let secret = String(other.pem.split(separator: "\n")[1])
            #expect(!wrong.output.contains(secret) && wrong.output.contains("has to be configured correctly"))
            wrong.send(SIGTERM)
            #expect(try await wrong.exit() == 0)
            let right = try fixture.worker()
            try await database.execute("select errand.circuit_close('apns')")
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job where queue = 'pushes')", within: .seconds(40)))
            #expect(fixture.ends.count == 30)
            right.send(SIGTERM)
            #expect(try await right.exit() == 0)
        }
    }

    @Test("while APNs is down until the 8 hours are over, nothing is sent after them")
    func never() async throws {
        try await withAppDatabase { database, configuration in
            let fixture = try await PushFixture(database, configuration)
            try await fixture.server.stop()
            // Due 59 s ago: their 8 hours are over in 1 s.
            try await fixture.start(20, dueIn: .seconds(-59))
            let worker = try fixture.worker()
            try await Task.sleep(for: .milliseconds(1500))
            try await fixture.server.start()
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job where queue = 'pushes')", within: .seconds(40)))
            #expect(fixture.server.receipts.isEmpty)
            // Obsolete at its claim, or cancelled if an attempt was running when the time was over.
            #expect(try await database.count("from errand.history where state in ('obsolete', 'cancelled')") == 20)
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }

    /// A later push to a phone is never an older one.
    private func expectGrowingTimestamps(_ fixture: PushFixture) throws {
        for (_, requests) in Dictionary(grouping: fixture.server.receipts.map(\.request), by: \.token) {
            let stamps = requests.sorted { $0.number < $1.number }.map(\.timestamp)
            #expect(stamps == stamps.sorted())
        }
    }
}
