import Errand
import Postgres

/// Deletes devices that were retired 30 days ago, and the record of changes from then.
struct DevicePrune: Job {
    static let kind: JobKind = "device_prune"
    static let policy = JobPolicy(deadline: .seconds(60), retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// Each batch is a transaction of its own, so that a failed attempt keeps its progress.
struct DevicePruneHandler: JobHandler {
    /// The output of a run.
    struct Report: Codable, Equatable {
        var devices = 0
        var changes = 0
    }

    static let batchSize = 1_000

    func run(_ job: DevicePrune, in context: JobContext) async throws -> Outcome {
        var report = Report()
        // Bounded: the next run does the rest.
        for _ in 1...200 {
            try Task.checkCancellation()
            let rows = try await context.database.query(
                Statement("select devices, changes from devices.prune_v1($1::int4)", [Self.batchSize]))
            let (devices, changes) = try rows[0].decode(Int.self, Int.self)
            report.devices += devices
            report.changes += changes
            if max(devices, changes) < Self.batchSize { break }
        }
        return try .done(report)
    }
}
