import Postgres

/// Runs many jobs of a kind at once: one request for a hundred mails, one statement for a hundred rows.
///
/// ```swift
/// struct CountViews: ChunkHandler {
///     let chunk = Chunk<View>(100, within: .milliseconds(200), by: \.page)
///
///     func run(_ jobs: [ChunkJob<View>]) async throws -> [Outcome] {
///         try await counters.add(jobs.count, to: jobs[0].job.page)
///         return jobs.map { _ in .done }
///     }
/// }
/// ```
/// Each job stays a job: it has its attempts, its deadline, its lease and an outcome of its own, and can be cancelled
/// alone. A chunk takes one of the queue's slots when it begins, and none while it waits for more jobs. It is made of
/// the jobs that one worker has claimed. A worker that stops hands back the jobs of a chunk that hasn't begun.
///
/// A job that was running in a crash of its worker is a chunk of its own.
public protocol ChunkHandler<Payload>: JobHandler {
    // Again, so that the compiler finds it by `run`.
    associatedtype Payload

    /// How jobs are gathered.
    var chunk: Chunk<Payload> { get }

    /// Runs jobs of one key, at least one, at most those of a chunk.
    ///
    /// The task is cancelled once each of the jobs is to stop: ``JobContext/interruption`` of a job says whether and
    /// why. What is thrown counts for all jobs. The policy's memory is that of a chunk.
    ///
    /// - Returns: an outcome for each job, in their order. Another number fails all of them for good.
    func run(_ jobs: [ChunkJob<Payload>]) async throws -> [Outcome]
}

/// How a ``ChunkHandler`` gets its jobs.
public struct Chunk<Payload: Sendable>: Sendable {
    let size: Int
    let window: Duration
    let key: (@Sendable (Payload) -> String)?

    /// - Parameters:
    ///   - size: the most jobs of a chunk, 1 to 1,000. That many begin at once.
    ///   - window: how long the first job of a chunk waits for others, at most a minute.
    ///   - key: only jobs with the same key are in a chunk. It is asked for each job when that is claimed, so it has to
    ///     be fast. Default: all jobs of the kind are alike.
    public init(_ size: Int, within window: Duration, by key: (@Sendable (Payload) -> String)? = nil) {
        precondition((1...1000).contains(size), "size: expected 1 to 1000, got \(size)")
        precondition(window >= .zero && window <= .seconds(60), "window: expected 0 to 60 s, got \(window)")
        self.size = size
        self.window = window
        self.key = key
    }
}

/// A job of a chunk.
public struct ChunkJob<Payload: Sendable>: Sendable {
    /// Its payload.
    public let job: Payload
    /// Its attempt.
    public let context: JobContext
}

extension ChunkHandler {
    /// Runs a chunk of one job.
    public func run(_ job: Payload, in context: JobContext) async throws -> Outcome {
        try await outcomes(of: [ChunkJob(job: job, context: context)])[0]
    }

    fileprivate func outcomes(of jobs: [ChunkJob<Payload>]) async throws -> [Outcome] {
        let outcomes = try await run(jobs)
        guard outcomes.count == jobs.count else { throw UnfitOutcomes(expected: jobs.count, got: outcomes.count) }
        return outcomes
    }
}

/// A handler has returned more or fewer outcomes than it got jobs.
struct UnfitOutcomes: ClassifiedError, CustomStringConvertible {
    let expected: Int
    let got: Int

    var isPermanent: Bool { true }
    var description: String { "chunk: expected an outcome for each of \(expected) jobs, got \(got)" }
}

// MARK: - Type-erased
/// How a worker gathers the jobs of a kind.
struct ChunkPlan: Sendable {
    let size: Int
    let window: Duration
    /// The key of a stored payload; nil for one that isn't such: it fails alone.
    let key: @Sendable (JSONB) -> String?
}

extension Handlers {
    static func chunkEntry<H: ChunkHandler>(_ handler: H, in middleware: MiddlewareChain) -> Entry {
        let policy = H.Payload.policy
        let chunk = handler.chunk
        @Sendable func decoded(_ payload: JSONB) throws -> H.Payload {
            try middleware.decoded(H.Payload.self, from: payload)
        }
        var entry = Entry(policy: policy) { payload in
            _ = try decoded(payload)
        } run: { job, context in
            try await middleware.run(context) {
                let member = ChunkJob(job: try decoded(job.payload), context: context)
                @Sendable func run(_ members: [ChunkJob<H.Payload>]) async throws -> [Outcome] {
                    try await context.withMemory(policy.memory) { try await handler.outcomes(of: members) }
                }
                guard let group = context.control.group else { return try await run([member])[0] }
                return try await group.outcome(of: job.id, member) { members in
                    try await run(members.compactMap { $0 as? ChunkJob<H.Payload> })
                }
            }
        }
        entry.chunk = ChunkPlan(size: chunk.size, window: chunk.window) { payload in
            guard let key = chunk.key else { return "" }
            return (try? decoded(payload)).map(key)
        }
        return entry
    }
}
