import Errand
import Postgres

/// Deletes the rows of events whose 8 days are over, and has their objects removed by the job `object_removal`.
///
/// It needs no object store: the rows go in time though that may be down, and what is to be removed there is on a list that
/// commits with them.
struct EventPurge: Job {
    static let kind: JobKind = "event_purge"
    static let policy = JobPolicy(retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// From when on an event's 8 days are counted: the setting ERRAND_EVENTS_KEPT_FROM.
package enum EventsKeptFrom: String, Sendable {
    case end
    /// Its start; an event that lasts longer goes at its end.
    case start
}

/// Each event is a transaction of its own, so that what an attempt has done stays done; several at once get an event each.
struct EventPurgeHandler: JobHandler {
    let keptFrom: EventsKeptFrom

    /// What a run has done, kept with its job: counts, and nothing that says whose or which.
    struct Report: Codable, Equatable {
        var events = 0
        var photos = 0
        /// Whether objects wait to be removed, from this run or an earlier one.
        var areObjectsDue = false
    }

    func run(_ job: EventPurge, in context: JobContext) async throws -> Outcome {
        var report = Report()
        while let photos = try await purgeNext(in: context) {
            report.events += 1
            report.photos += photos
            try Task.checkCancellation()
        }
        report.areObjectsDue = try await context.database.query("select media.enqueue_removals_v1()").scalar(Bool.self)
        return try .done(report)
    }

    /// How many photos the next event that is due had; nil where none is due.
    private func purgeNext(in context: JobContext) async throws -> Int? {
        try await context.database.query(
            Statement("select photos from events.purge_due_v1($1)", [keptFrom.rawValue])
        ).first?.decode(Int.self)
    }
}
