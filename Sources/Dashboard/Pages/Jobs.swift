import Foundation
import Postgres

/// A page of the list of jobs.
struct Jobs {
    struct Row: Decodable {
        let id: Int
        let queue: String
        let kind: String
        let state: String
        let attempt: Int
        let maxAttempts: Int
        let createdAt: Moment?
        let runAt: Moment?
        let startedAt: Moment?
        let finishedAt: Moment?
        let uniqueKey: String?
        let tags: [String]?
        let error: String?
        let waitingFor: String?
    }

    struct Found: Decodable {
        let jobs: [Row]
        let before: Int?
        let readBackTo: Moment?
    }

    struct Job {
        let id: Int
        let kind: String
        let queue: String
        let state: JobState
        let attempts: String
        /// `due`, `started` or `ended`, and when.
        let when: String
        let time: ShownTime?
        let note: String?
        let tags: [String]
    }

    let filter: JobFilter
    let jobs: [Job]
    let isEmpty: Bool
    /// The next page; nil at the end.
    let older: String?
    /// How far back a search without a full page has read.
    let readBackTo: ShownTime?
    let newest: String?

    init(_ found: Found, filter: JobFilter, now: Date, isFirst: Bool) {
        self.filter = filter
        jobs = found.jobs.map { Job($0, now: now) }
        isEmpty = jobs.isEmpty
        older = found.before.map { filter.address(before: $0) }
        readBackTo =
            found.before != nil && found.jobs.count < Self.pageLength ? ShownTime(found.readBackTo, now: now) : nil
        newest = isFirst ? nil : filter.address(before: nil)
    }

    static let pageLength = 50
}

extension Jobs.Job {
    init(_ row: Jobs.Row, now: Date) {
        id = row.id
        kind = row.kind
        queue = row.queue
        state = JobState(row.state)
        attempts = "\(row.attempt)/\(row.maxAttempts)"
        let (word, moment) =
            row.finishedAt != nil
            ? ("ended", row.finishedAt) : row.state == "running" ? ("started", row.startedAt) : ("due", row.runAt)
        when = word
        time = ShownTime(moment, now: now)
        note = row.error ?? row.waitingFor
        tags = row.tags ?? []
    }
}

/// A state with its colour: calm, busy, good, bad or quiet.
struct JobState {
    let name: String
    let tone: String

    /// Of a job that other jobs name, and that was pruned.
    static let gone = "not on record"

    init(_ name: String) {
        self.name = name
        tone =
            switch name {
            case "running": "busy"
            case "failed": "bad"
            case "succeeded": "good"
            case "parked": "held"
            case "cancelled", "obsolete", Self.gone: "quiet"
            default: "calm"
            }
    }
}

/// What the form above the list asks for.
struct JobFilter {
    struct Choice {
        let name: String
        let isChosen: Bool
    }

    let id: String?
    let states: [Choice]
    let state: String?
    let kind: String?
    let queue: String?
    let tag: String?
    let uniqueKey: String?
    let error: String?
    let fingerprint: String?
    let batch: String?
    let createdAfter: String?
    let createdBefore: String?
    let isActive: Bool

    private static let known = [
        "available", "running", "scheduled", "parked", "failed", "succeeded", "cancelled", "obsolete",
    ]

    init(_ query: FormFields) {
        id = query["id"]
        state = query["state"].flatMap { Self.known.contains($0) ? $0 : nil }
        let chosen = state
        states = Self.known.map { Choice(name: $0, isChosen: $0 == chosen) }
        kind = query["kind"]
        queue = query["queue"]
        tag = query["tag"]
        uniqueKey = query["unique_key"]
        error = query["error"]
        fingerprint = query["fingerprint"]
        batch = query["batch"]
        createdAfter = query["created_after"]
        createdBefore = query["created_before"]
        isActive = [state, kind, queue, tag, uniqueKey, error, fingerprint, batch, createdAfter, createdBefore]
            .contains { $0 != nil }
    }

    private var fields: [(String, String?)] {
        [
            ("state", state), ("kind", kind), ("queue", queue), ("tag", tag), ("unique_key", uniqueKey),
            ("error", error), ("fingerprint", fingerprint), ("batch", batch), ("created_after", createdAfter),
            ("created_before", createdBefore),
        ]
    }

    /// As errand.list_jobs takes it; times without a zone are UTC.
    var document: JSONB {
        get throws {
            var keys: [String: String] = [:]
            for (name, value) in fields {
                keys[name] = name.hasPrefix("created_") ? Dashboard.time(value) : value
            }
            return try JSONB(encoding: keys)
        }
    }

    func address(before id: Int?) -> String {
        let all = fields + [("before", id.map { "\($0)" })]
        let query = all.compactMap { name, value in value.map { "\(name)=\(Dashboard.encoded($0))" } }
        return query.isEmpty ? "/jobs" : "/jobs?" + query.joined(separator: "&")
    }
}

extension Dashboard {
    func jobs(_ visit: Visit) async throws -> Reply {
        let filter = JobFilter(visit.query)
        if let id = filter.id.flatMap({ Int64($0) }) { return .redirect("/jobs/\(id)") }
        let before = visit.query["before"].flatMap { Int64($0) }
        let results = try await store.read(
            as: visit.caller,
            [
                Query(
                    """
                    select document.*
                    from jsonb_to_record(errand.list_jobs($1, $2, $3)) as document(
                        jobs jsonb, before bigint, read_back_to timestamptz)
                    """, [try filter.document, before, Int32(Jobs.pageLength)])
            ])
        let found = try results.rows(0, of: Jobs.Found.self)
        let view = Jobs(
            found.first ?? Jobs.Found(jobs: [], before: nil, readBackTo: nil), filter: filter, now: results.now,
            isFirst: before == nil)
        return page("jobs", "Jobs", section: "Jobs", visit, results, view)
    }
}
