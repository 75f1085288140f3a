import Benchmark
import Errand
import Foundation
import SystemPackage

/// What a no-op job waits, at a steady rate, while the same worker process has photos compressed on both cores, and
/// while it has none.
///
/// The worker is the program `errand worker` at its defaults. A job's time is by the database's clock: from the
/// transaction that enqueues it to the one that ends it, so that nothing between its claim and its handler is left out.
struct LatencyImages: Scenario {
    /// Seconds, twice.
    let duration: Int
    let name = "latency-images"
    let about = "no-op jobs at 20/s, alone and while the same worker compresses photos: from enqueue to end"
    let peers = Peers.none
    let comparesCommits = false
    var seconds: Double { Double(duration) * 2 + 10 }
    private let rate = 20

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        let photos = try await Photos.made(in: context)
        var outcome: [String: Values] = [:]
        for (part, compresses) in [("/alone", false), ("/beside", true)] {
            outcome[part] = try await context.withDatabase(for: contender) { runDatabase in
                try await measure(contender, in: context, runDatabase, photos: compresses ? photos : nil)
            }
        }
        return outcome
    }

    private func measure(
        _ contender: Contender, in context: RunContext, _ runDatabase: RunDatabase, photos: Photos?
    ) async throws -> Values {
        let storage = FileManager.default.temporaryDirectory.appendingPathComponent("errand-bench-\(UUID())")
        defer { try? FileManager.default.removeItem(at: storage) }
        try FileManager.default.createDirectory(at: storage, withIntermediateDirectories: true)
        if let photos { try await submit(photos, to: storage, in: runDatabase) }
        let settings = ["STORAGE_URL": "file://\(storage.path)"]
        try await Service(["storage", "init"], of: contender, in: context, environment: settings).run(
            on: runDatabase.url)
        let worker = Service(["worker"], of: contender, in: context, environment: settings)
        return try await worker.running(on: runDatabase.url) { process in
            try await Self.wait("the worker's start", until: Self.worker, in: runDatabase)
            if photos != nil { try await Self.wait("the first photos", until: Self.compressed, in: runDatabase) }
            // Connections and caches are warm by then.
            _ = try await enqueue(rate, in: runDatabase)
            let first = try await enqueue(rate * duration, in: runDatabase)
            if photos != nil, try await runDatabase.database.query(Self.noPhotoWaits).scalar(Bool.self) {
                throw BenchError("latency-images: the photos were done before the jobs were")
            }
            try await Self.wait("the last jobs", until: Self.worked, in: runDatabase)
            let times = try await runDatabase.database.query(Statement(Self.times, [first])).column(0, as: Int.self)
            var values = Latencies(microseconds: times).values
            values[.rate] = Double(rate)
            values[.peakMemory] =
                ProcessFigures.tree(of: process).reduce(0) { $0 + $1.memory.peak } / Double(1 << 20)
            return values
        }
    }

    /// Stores the photos, and has each of them compressed so often that there is work for all the time.
    private func submit(_ photos: Photos, to storage: URL, in runDatabase: RunDatabase) async throws {
        let folder = storage.appendingPathComponent("uploads")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in photos.names {
            try FileManager.default.copyItem(
                atPath: photos.folder.appending(name).string, toPath: folder.appendingPathComponent(name).path)
        }
        // Ten a second are more than two cores do.
        try await runDatabase.database.execute(
            Statement(
                "select count(media.submit('uploads/' || name)) from unnest($1::text[]) as name, generate_series(1, $2::int)",
                [photos.names, max(1, (duration + 10) * 10 / photos.names.count)]))
    }

    /// Enqueues so many by a timetable; returns the first one's id.
    private func enqueue(_ count: Int, in runDatabase: RunDatabase) async throws -> Int64 {
        let start = ContinuousClock.now
        var first: Int64?
        for number in 0..<count {
            try await Task.sleep(
                until: start + .seconds(Double(number) / Double(rate)), tolerance: .zero, clock: .continuous)
            let id = try await runDatabase.database.query("select job_id from errand.enqueue('noop')").scalar(
                Int64.self)
            first = first ?? id
        }
        return first ?? 0
    }

    private static func wait(_ what: String, until holds: Statement, in runDatabase: RunDatabase) async throws {
        let limit = ContinuousClock.now + .seconds(60)
        while try await !runDatabase.database.query(holds).scalar(Bool.self) {
            guard .now < limit else { throw BenchError("latency-images: waited 60 s for \(what)") }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static let worker: Statement = "select exists (select from errand.workers)"
    private static let worked: Statement = "select not exists (select from errand.job where kind = 'noop')"
    private static let compressed: Statement = """
        select count(*) >= 2 from errand.jobs where kind = 'image_compression' and state = 'succeeded'
        """
    private static let noPhotoWaits: Statement = """
        select not exists (select from errand.job where kind = 'image_compression' and state = 'available')
        """
    private static let times = """
        select (extract(epoch from finished_at - created_at) * 1000000)::bigint
        from errand.jobs
        where kind = 'noop' and id >= $1 and state = 'succeeded'
        """
}
