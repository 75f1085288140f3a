import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Synchronization
import Testing

@Suite(
    "A slow network, and a broken one, between workers and the server", .serialized,
    .enabled(if: Hardness.isFull, "each takes most of a minute"))
struct LinkFaultTests {
    @Test("F27: over a link of 100 ms and 1 Mbit/s, which jobs fill, a worker keeps its lease")
    func slow() async throws {
        try await withOwnServer { cluster, database in
            let link = NetworkProxy.Link(delay: .milliseconds(100), bytesPerSecond: 125_000)
            let proxy = try NetworkProxy(to: await database.socket(), link: link)
            defer { proxy.stop() }
            let settings = ["ERRAND_LEASE": "4s", "ERRAND_HEARTBEAT_INTERVAL": "1s"]
            // It takes no job, and rescues those of silent workers.
            let rescuer = try Program(
                ["worker"], database: await cluster.url(),
                settings: settings.merging(["ERRAND_QUEUES": "other=1"]) { one, _ in one })
            #expect(try await database.becomes("count(*) = 1 from errand.worker", within: .seconds(30)))
            let worker = try Program(
                ["worker"], database: proxy.url,
                settings: settings.merging(["ERRAND_QUEUES": "default=10"]) { one, _ in one })
            // Three leases long.
            try await database.enqueueSleepers(2, milliseconds: 12_000)
            #expect(
                try await database.becomes("count(*) = 2 from errand.job where state = 'running'", within: .seconds(30))
            )
            let start = ContinuousClock.now
            let (jobs, size) = (300, 12_000)
            try await database.execute(
                Statement(
                    """
                    select errand.enqueue_payloads_v1('noop', array(
                        select jsonb_build_object('sleep_ms', 20, 'padding', repeat('x', $2::int4))
                        from generate_series(1, $1)))
                    """, [jobs, Int32(size)]))
            try await database.expectEachRunsOnce(jobs + 2, within: .seconds(90))
            let took = ContinuousClock.now - start
            print("100 ms and 1 Mbit/s: \(jobs) jobs of \(size) bytes took \(took)")
            // The link was full for longer than three leases: otherwise the test has tried nothing.
            #expect(took > .seconds(1) * (Double(jobs * size) / 125_000))
            #expect(proxy.counts.bytesToClients > jobs * size)
            #expect(!worker.output.contains("lease lost"))
            try await worker.expectToStop()
            try await rescuer.expectToStop()
        }
    }

    @Test("F28: resets, bytes one by one and garbage crash no worker, lose no job, and double none")
    func chaos() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        try await withOwnServer { _, database in
            let isOver = Atomic(false)
            let proxy = try NetworkProxy(to: await database.socket()) { connection in
                isOver.load(ordering: .relaxed) ? NetworkProxy.Fate() : Self.fate(of: connection, seed)
            }
            defer { proxy.stop() }
            let workers = try (0..<2).map { _ in
                try Program(["worker"], database: proxy.url, settings: ["ERRAND_QUEUES": "default=10"])
            }
            let (tried, acknowledged) = try await enqueue(over: proxy, for: .seconds(40))
            isOver.store(true, ordering: .relaxed)
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            let ended = try await database.query("select output::text::int8 from errand.history").column(
                0, as: Int.self)
            let counts = proxy.counts
            print(
                "seed \(seed): \(acknowledged.count) of \(tried) enqueues acknowledged, \(ended.count) ended; \(counts)"
            )
            // A failed comparison of the sets would print thousands of numbers.
            let lost = acknowledged.subtracting(ended)
            #expect(lost.isEmpty, "lost; seed \(seed)")
            #expect(Set(ended).count == ended.count, "enqueued once, and ended twice; seed \(seed)")
            #expect(try await database.count("from errand.history where state <> 'succeeded'") == 0)
            #expect(try await database.count("from errand.failed") == 0)
            #expect(
                try await database.count("from errand.history where attempt > 1 or crashes > 0") == 0,
                "ran twice; seed \(seed)")
            // Otherwise the test has tried little.
            #expect(acknowledged.count > 300 && acknowledged.count < tried)
            #expect(counts.resets > 50 && counts.garbage > 10 && counts.trickles > 3)
            // Over both, since an idle worker replaces a broken connection without a word.
            #expect(workers.contains { $0.lines(with: "interrupted") + $0.lines(with: "heartbeat failed") > 0 })
            for worker in workers { try await worker.expectToStop() }
        }
    }

    /// What happens to a connection. Most last a few seconds, so that the workers get on.
    private static func fate(of connection: Int, _ seed: UInt64) -> NetworkProxy.Fate {
        var random = SeededGenerator(seed: seed &+ UInt64(connection))
        let life = Duration.milliseconds(Int.random(in: 500...6000, using: &random))
        let offset = Int.random(in: 0...12_000, using: &random)
        let garbage = (0..<Int.random(in: 1...200, using: &random)).map { _ in
            UInt8.random(in: 0...255, using: &random)
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: return NetworkProxy.Fate(toServer: .reset(after: offset), life: life)
        case 2, 3: return NetworkProxy.Fate(toClient: .reset(after: offset), life: life)
        case 4, 5: return NetworkProxy.Fate(toServer: .garbage(garbage, after: offset), life: life)
        case 6, 7: return NetworkProxy.Fate(toClient: .garbage(garbage, after: offset), life: life)
        case 8:
            let step = Duration.microseconds(500)
            return NetworkProxy.Fate(toServer: .trickle(step), toClient: .trickle(step), life: life * 2)
        default: return NetworkProxy.Fate(life: life)
        }
    }

    /// Enqueues jobs over the proxy, over a few connections. Returns how many it tried, and which were acknowledged.
    private func enqueue(
        over proxy: NetworkProxy, for span: Duration
    ) async throws -> (tried: Int, acknowledged: Set<Int>) {
        let end = ContinuousClock.now + span
        let app = Database(configuration: try PostgresConfiguration(url: proxy.url), maximumConnections: 4)
        let acknowledged = await withTaskGroup(of: [(Int, Bool)].self) { group in
            for app in repeatElement(app, count: 4).enumerated() {
                group.addTask { await Self.enqueue(from: app.offset * 1_000_000, to: app.element, until: end) }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        await app.close()
        return (acknowledged.count, Set(acknowledged.filter(\.1).map(\.0)))
    }

    /// Returns each number that was enqueued, and whether that was acknowledged.
    private static func enqueue(
        from first: Int, to app: Database, until end: ContinuousClock.Instant
    ) async -> [(Int, Bool)] {
        var tried: [(Int, Bool)] = []
        while ContinuousClock.now < end {
            let number = first + tried.count
            let statement = Statement(
                "select errand.enqueue('noop', jsonb_build_object('sleep_ms', 30, 'output', $1::int8))", [number])
            tried.append((number, (try? await app.execute(statement)) != nil))
            try? await Task.sleep(for: .milliseconds(40))
        }
        return tried
    }
}

extension NetworkProxy {
    /// The URL of the database behind it.
    fileprivate var url: String { "postgresql://postgres@127.0.0.1:\(port)/errand" }
}
