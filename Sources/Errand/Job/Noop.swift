import Postgres

/// The built-in kind `noop`: does nothing, or fails as requested. For first trials, canaries, benchmarks and fault
/// tests.
///
/// ```sql
/// select errand.enqueue('noop', '{"sleep_ms": 500, "output": {"hello": "world"}}');
/// select errand.enqueue('noop', '{"fail": "transient"}');
/// ```
public struct Noop: Job {
    public static let kind: JobKind = "noop"

    public enum Failure: String, Codable, Sendable {
        /// Fails each attempt, and is retried.
        case transient
        /// Fails permanently at the first attempt.
        case permanent
    }

    /// How long it sleeps first, in milliseconds. Cancellation ends the sleep.
    public var sleepMilliseconds: Int?
    /// How it fails, after the sleep.
    public var fail: Failure?
    /// What it returns: any JSON.
    public var output: JSONValue?

    public init(sleepMilliseconds: Int? = nil, fail: Failure? = nil, output: JSONValue? = nil) {
        self.sleepMilliseconds = sleepMilliseconds
        self.fail = fail
        self.output = output
    }

    enum CodingKeys: String, CodingKey {
        case sleepMilliseconds = "sleep_ms"
        case fail, output
    }

    /// Decodes all but the output, which only ``init(payload:)`` reads: a decoder can't be asked what it holds.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        sleepMilliseconds = try fields.decodeIfPresent(Int.self, forKey: .sleepMilliseconds)
        fail = try fields.decodeIfPresent(Failure.self, forKey: .fail)
        if fields.contains(.output) { output = .null }
    }

    public init(payload: JSONB) throws {
        self = try payload.decode(Self.self)
        guard output != nil, case .object(let fields) = try JSONValue(payload) else { return }
        output = fields[CodingKeys.output.rawValue].flatMap { $0 == .null ? nil : $0 }
    }
}

struct NoopHandler: JobHandler {
    func run(_ job: Noop, in context: JobContext) async throws -> Outcome {
        if let sleep = job.sleepMilliseconds { try await Task.sleep(for: .milliseconds(sleep)) }
        switch job.fail {
        case .transient: return .retry(after: nil, reason: "asked to fail: transient")
        case .permanent: return .fail(reason: "asked to fail: permanent")
        case nil: return try job.output.map { try .done($0) } ?? .done
        }
    }
}
