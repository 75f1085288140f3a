import Logging
import Postgres

extension JobContext {
    /// Runs `body` once in the job's life: what it returns is recorded, and later attempts return that without running
    /// it.
    ///
    /// ```swift
    /// let receipt = try await context.step("charge") { try await bank.charge(order) }
    /// try await context.step("mail") { try await mail.send(receipt) }
    /// ```
    /// The record stays over retries, snoozes, waits and crashes, and while the job can be retried by an operator, even
    /// with another payload. It is written when `body` has returned, also if the attempt is stopped meanwhile. If the
    /// worker dies before, `body` runs again: `stepTransaction` has no such gap. A second call with the same name in
    /// one attempt returns the record too; steps that run side by side need different names.
    ///
    /// - Parameters:
    ///   - name: 1 to 200 characters, the same in every version of the handler.
    ///   - body: what is done once. Its result has at most 256 KB as JSON. An attempt that is to stop doesn't begin it.
    /// - Throws: what `body` throws, and then nothing is recorded; ``StepRefused`` if this worker no longer owns the
    ///   job; ``UnfitStep`` if the record is no `T`; ``OutputTooLarge``.
    @discardableResult
    public func step<T: Codable & Sendable>(_ name: String, _ body: () async throws -> T) async throws -> T {
        let output = try await once(name) { try await record(name, JSONB(encoding: body()).checkedAsOutput()) }
        return try decode(T.self, output, of: name)
    }

    /// The same for a step that returns nothing.
    public func step(_ name: String, _ body: () async throws -> Void) async throws {
        _ = try await once(name) {
            try await body()
            return try await record(name, nil)
        }
    }

    /// Runs `body` in a transaction that also records the step: its writes and the record commit together, or neither
    /// does. So they happen exactly once, whatever fails in between.
    ///
    /// ```swift
    /// try await context.stepTransaction("book") { transaction in
    ///     try await transaction.execute(Statement("update account set …", [job.amount]))
    /// }
    /// ```
    /// From the end of `body` to the commit the job's row is locked. The rest is as for `step`.
    @discardableResult
    public func stepTransaction<T: Codable & Sendable>(
        _ name: String, _ body: @Sendable (Transaction) async throws -> T
    ) async throws -> T {
        let output = try await onceInTransaction(name) { try JSONB(encoding: await body($0)).checkedAsOutput() }
        return try decode(T.self, output, of: name)
    }

    /// The same for a step that returns nothing.
    public func stepTransaction(
        _ name: String, _ body: @Sendable (Transaction) async throws -> Void
    ) async throws {
        _ = try await onceInTransaction(name) { transaction in
            try await body(transaction)
            return nil
        }
    }
}

// MARK: - Once
extension JobContext {
    /// Returns the record of the step, or that which `body` makes.
    private func once(_ name: String, _ body: () async throws -> JSONB?) async throws -> JSONB? {
        // As errand_internal.check_name, which would refuse it only after the effect.
        guard (1...200).contains(name.unicodeScalars.count),
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw UnfitStepName(name: name) }
        if let recorded = try await recordedSteps(name)[name] { return recorded }
        try Task.checkCancellation()
        let output = try await body()
        control.add([name: output])
        return output
    }

    private func onceInTransaction(
        _ name: String, _ body: @Sendable (Transaction) async throws -> JSONB?
    ) async throws -> JSONB? {
        try await once(name) {
            do {
                return try await database.transaction { transaction in
                    let output = try await body(transaction)
                    let written = try await write(name, output) { try await transaction.query($0) }
                    // Another step of this name, side by side: that one counts.
                    guard written.isNew else { throw Recorded(output: written.output) }
                    return written.output
                }
            } catch let known as Recorded {
                return known.output
            }
        }
    }

    private struct Recorded: Error { let output: JSONB? }

    /// All steps of the job that are on record, which the first call of an attempt reads.
    private func recordedSteps(_ name: String) async throws -> [String: JSONB?] {
        if let known = control.steps { return known }
        do {
            let rows = try await database.query(
                Statement(
                    "select name, output from errand_internal.steps_v1($1, $2, $3)",
                    [job.workerID, job.id, job.position]))
            let steps = try rows.map { try $0.decode(String.self, JSONB?.self) }
            control.add(Dictionary(steps) { first, _ in first })
            return control.steps ?? [:]
        } catch let error as PostgresError where error.sqlState == "ER409" {
            throw StepRefused(step: name)
        }
    }

    private func decode<T: Decodable>(_ type: T.Type, _ output: JSONB?, of name: String) throws -> T {
        do { return try (output ?? JSONB("null")).decode(type) } catch { throw UnfitStep(name, type, error) }
    }
}

// MARK: - Recording
extension JobContext {
    /// Records the step in a task of its own, which goes on if the attempt is stopped: the effect has happened. Nothing
    /// but the attempt's end keeps it from being written: a lost connection doesn't.
    private func record(_ name: String, _ output: JSONB?) async throws -> JSONB? {
        let writing = Task {
            var delay = Self.firstDelay
            while true {
                do {
                    return try await write(name, output) { try await database.query($0) }.output
                } catch let error as PostgresError where error.isTransient && interruption == nil {
                    try await Self.pause(&delay)
                }
            }
        }
        do {
            return try await writing.value
        } catch {
            // Without its name, which may say whose it is.
            logger.warning("a step has run, and is not recorded", metadata: ["error": "\(error.loggedClass)"])
            throw error
        }
    }

    /// Writes the record. Waits while another session has locked the job's row, until the attempt is to stop.
    private func write(
        _ name: String, _ output: JSONB?, by query: (Statement) async throws -> Rows
    ) async throws -> (output: JSONB?, isNew: Bool) {
        let statement = Statement(
            "select * from errand_internal.record_step_v1($1, $2, $3, $4, $5)",
            [job.workerID, job.id, job.position, name, output])
        var delay = Self.firstDelay
        while true {
            let (state, existing) = try await Self.reply(to: statement, by: query)
            switch state {
            case "recorded": return (output, true)
            case "known": return (existing, false)
            case "locked" where interruption == nil: try await Self.pause(&delay)
            case "locked": throw CancellationError()
            default: throw StepRefused(step: name)
            }
        }
    }

    private static func reply(
        to statement: Statement, by query: (Statement) async throws -> Rows
    ) async throws -> (state: String, existing: JSONB?) {
        do {
            let row = try await query(statement).row(of: "errand_internal.record_step_v1")
            return try row.decode(String.self, JSONB?.self)
        } catch let error as PostgresError where error.sqlState == "ER413" {
            throw OutputTooLarge(description: error.detail)
        }
    }

    private static let firstDelay: Duration = .milliseconds(5)

    private static func pause(_ delay: inout Duration) async throws {
        try await Task.sleep(for: delay)
        delay = min(delay * 2, .milliseconds(100))
    }
}

// MARK: - Errors
/// A step was not recorded, because this worker no longer owns the job: it was cancelled, or runs elsewhere.
public struct StepRefused: Error, Sendable, CustomStringConvertible {
    /// The step's name.
    public let step: String

    public var description: String { "step \(step): nothing was recorded: this worker no longer owns the job" }
}

/// What is on record for a step isn't what this version of the handler expects, so the job fails for good.
public struct UnfitStep: ClassifiedError, CustomStringConvertible {
    public let description: String
    public var isPermanent: Bool { true }

    init(_ name: String, _ type: any Any.Type, _ error: any Error) {
        description = "step \(name): its record does not fit \(type): \(error.decodingText(of: "output"))"
    }
}

/// A name that no step may have.
struct UnfitStepName: ClassifiedError, CustomStringConvertible {
    let name: String
    var isPermanent: Bool { true }
    var description: String { "step: name: expected 1 to 200 characters, got '\(name.prefix(120))'" }
}
