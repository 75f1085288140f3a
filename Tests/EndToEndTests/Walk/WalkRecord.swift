import Foundation
import Logging
import Postgres
import Synchronization

/// The results of the walk's sessions.
final class WalkRecord: Sendable {
    enum Phase: Sendable {
        case chaos
        /// No more faults; remaining jobs are run.
        case quiet
        case over
    }

    struct State: Sendable {
        var phase = Phase.chaos
        /// The number of unfinished sessions.
        var sessions = 0
        var newest: Int64 = 0
        /// When each commit was acknowledged, in microseconds.
        var acknowledged: [Int64: Int64] = [:]
        var rolledBack: Set<Int64> = []
        /// The count of each SQLSTATE.
        var refusals: [String: Int] = [:]
        /// Violations.
        var surprises: [String] = []
        /// When workers or the server were killed.
        var kills: [Int64] = []
        var chaos: [String: Int] = [:]
        /// When the rates of keys were removed.
        var unmetered = Int64.max
    }

    private let state = Mutex(State())

    func with<T: Sendable>(_ body: (inout State) -> T) -> T { state.withLock { body(&$0) } }
    var phase: Phase { with { $0.phase } }
    func nextNumber() -> Int64 {
        with { state in
            state.newest += 1
            return state.newest
        }
    }

    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }

    /// Refusals that are part of the game: of bad luck in a serializable session, of keys and rows that are not there,
    /// of sessions that were ended.
    private static let expected: Set<String> = [
        "40001", "ER404", "ER409", "57P01", "57P02", "57P03", "none",
    ]

    func refused(_ error: PostgresError, during words: String) {
        with { state in
            let code = error.sqlState ?? "none"
            state.refusals[code, default: 0] += 1
            if !Self.expected.contains(code) { state.surprises.append("\(words): \(error)") }
        }
    }
}

/// A session that records its name and its results in each of its transactions.
final class WalkSession {
    enum Outcome { case committed, rolledBack, unknown }

    private let configuration: PostgresConfiguration
    private let record: WalkRecord
    private var open: Connection?
    private var backend: Int64?

    init(_ configuration: PostgresConfiguration, record: WalkRecord) {
        self.configuration = configuration
        self.record = record
    }

    func close() async { await open?.close() }

    /// A connection; waits for a server that is down, and until the session before it holds no row any more: that one
    /// may be told of its end before its transaction is rolled back.
    func connection() async throws -> Connection {
        if let open, await open.isOpen { return open }
        while true {
            do {
                let fresh = try await Connection.connect(
                    configuration, logger: Logger(label: "walk") { _ in SwiftLogNoOpLogHandler() })
                while let backend,
                    try await fresh.query(
                        Statement("select exists (select from pg_stat_activity where pid = $1)", [backend])
                    ).scalar(Bool.self)
                {
                    try await Task.sleep(for: .milliseconds(5))
                }
                backend = try await fresh.query("select pg_backend_pid()::int8").scalar(Int64.self)
                open = fresh
                return fresh
            } catch {
                guard record.phase != .over else { throw error }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Runs steps in one transaction. A step has a number of its own; its body returns what is on record as its
    /// results.
    func transaction(
        isolation: String = "read committed", heldMilliseconds: Int = 0, commits: Bool = true, words: String,
        steps: [(number: Int64, cause: String, body: (Connection) async throws -> String?)]
    ) async throws -> Outcome {
        let connection = try await connection()
        var isCommitting = false
        do {
            try await connection.execute(Statement("begin isolation level \(isolation)"))
            for step in steps {
                try await connection.execute(
                    Statement(
                        "select set_config('walk.cause', $1, true)",
                        ["\(step.cause.replacing("#", with: "\(step.number)"))"]))
                let results = try await step.body(connection)
                try await connection.execute(
                    Statement(
                        "insert into walk.done values ($1, $2, $3::text::jsonb)", [step.number, words, results]))
            }
            if heldMilliseconds > 0 { try await Task.sleep(for: .milliseconds(heldMilliseconds)) }
            isCommitting = commits
            try await connection.execute(commits ? "commit" : "rollback")
            let now = WalkRecord.now
            record.with { state in
                for step in steps {
                    if commits { state.acknowledged[step.number] = now } else { state.rolledBack.insert(step.number) }
                }
            }
            return commits ? .committed : .rolledBack
        } catch {
            guard let refusal = error as? PostgresError else { throw error }
            let isUnknown = isCommitting && refusal.code == .connectionLost
            record.refused(refusal, during: words)
            if refusal.code == .rejected {
                _ = try? await connection.execute("rollback")
            } else {
                await connection.close()
            }
            if !isUnknown {
                record.with { state in for step in steps { state.rolledBack.insert(step.number) } }
            }
            return isUnknown ? .unknown : .rolledBack
        }
    }

    /// Draws operations and runs them until the quiet period.
    func walk(_ generator: consuming WalkGenerator) async throws {
        var generator = generator
        defer { record.with { $0.sessions -= 1 } }
        while record.phase == .chaos {
            let operation = generator.next()
            let number = record.nextNumber()
            _ = try await transaction(
                isolation: operation.isRepeatableRead ? "repeatable read" : "read committed",
                heldMilliseconds: operation.heldMilliseconds, commits: operation.commits, words: operation.name,
                steps: [
                    (
                        number, "operation # \(operation.name)",
                        { connection in
                            try await connection.query(Statement("select \(operation.results)::text"))
                                .scalar(String?.self)
                        }
                    )
                ])
            try await Task.sleep(for: .milliseconds(generator.rest()))
        }
        await close()
    }
}
