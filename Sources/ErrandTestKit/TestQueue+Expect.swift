import Errand
import Postgres

extension TestQueue {
    /// Expects exactly one job with this payload, waiting or ended, and returns it.
    ///
    /// - Parameters:
    ///   - job: the payload.
    ///   - options: the options of its enqueue. Options that aren't given aren't compared. `.after` and `.at` compare
    ///     the due time, which a retry changes, so compare before the job has run.
    /// - Throws: ``UnmetExpectation``, which shows the jobs that exist.
    @discardableResult
    public func expectEnqueued<J: Job>(_ job: J, _ options: EnqueueOption...) async throws -> RecordedJob {
        let payload = try JSONB(encoding: job)
        let values = EnqueueOption.values(of: options)
        let found = try await RecordedJob.read(from: database, kind: J.kind, isPayload: payload)
        let meant = found.filter(\.isPayload).map(\.job)
        let matching = meant.filter { $0.differences(from: values).isEmpty }
        if matching.count == 1 { return matching[0] }
        let expected = "one job \(J.kind) \(payload.text)"
        if matching.isEmpty, let nearest = meant.first {
            let differences = nearest.differences(from: values).joined(separator: "; ")
            throw UnmetExpectation("\(expected) with these options", but: differences, there: meant)
        }
        throw UnmetExpectation(expected, there: matching.isEmpty ? try await jobs() : matching)
    }

    /// Expects exactly `count` jobs of the kind, waiting or ended, whose payload matches `isMeant`. Returns them in the
    /// order of their enqueue.
    ///
    /// - Throws: ``UnmetExpectation``, which shows the jobs that exist; the errors of `isMeant`, and of decoding a
    ///   payload.
    @discardableResult
    public func expectEnqueued<J: Job>(
        _ kind: J.Type, count: Int = 1, where isMeant: (J) throws -> Bool = { _ in true }
    ) async throws -> [RecordedJob] {
        let found = try await jobs(of: kind).filter { try isMeant($0.payload(as: kind)) }
        guard found.count == count else {
            throw UnmetExpectation(
                "\(count) \(count == 1 ? "job" : "jobs") \(J.kind) that the test means",
                but: "\(found.count) of them", there: try await jobs())
        }
        return found
    }

    /// Expects no job of the kind whose payload matches `isMeant`. Throws as above.
    public func expectNotEnqueued<J: Job>(
        _ kind: J.Type, where isMeant: (J) throws -> Bool = { _ in true }
    ) async throws {
        let found = try await jobs(of: kind).filter { try isMeant($0.payload(as: kind)) }
        guard found.isEmpty else { throw UnmetExpectation("no job \(J.kind) that the test means", there: found) }
    }
}

extension RecordedJob {
    /// The differences between the job and the expected options.
    func differences(from values: EnqueueOption.Values) -> [String] {
        var found: [String] = []
        func compare<T: Equatable>(_ name: String, _ expected: T?, _ present: T?) {
            guard let expected, expected != present else { return }
            found.append("\(name): expected \(expected), got \(present.map { "\($0)" } ?? "none")")
        }
        compare("queue", values.queue, queue)
        compare("priority", values.priority, priority)
        compare("maxAttempts", values.maxAttempts, maxAttempts)
        compare("unique", values.uniqueKey, uniqueKey)
        compare("at", values.runAt, runAt)
        compare("after", values.delay, delay)
        compare("notAfter", values.notAfter, notAfter)
        compare("limited", values.limitKey, limitKey)
        compare("rated", values.rateKey, rateKey)
        compare("guarded", values.guardName, guardName)
        compare("tags", values.tags.isEmpty ? nil : values.tags, tags)
        compare("traceparent", values.forWorker.traceparent, traceparent)
        compare("subject", values.subject, subject)
        return found
    }
}

/// An expectation of a test about the queue failed.
public struct UnmetExpectation: Error, CustomStringConvertible {
    public let description: String

    /// Shows up to 10 of the jobs that were there.
    init(_ expected: String, but: String? = nil, there jobs: [RecordedJob]) {
        var lines = ["expected \(expected)" + (but.map { ", got \($0)" } ?? "")]
        lines.append(jobs.isEmpty ? "there is no job at all" : "there is:")
        lines += jobs.prefix(10).map { "    \($0)" }
        if jobs.count > 10 { lines.append("    and \(jobs.count - 10) more") }
        description = lines.joined(separator: "\n")
    }
}
