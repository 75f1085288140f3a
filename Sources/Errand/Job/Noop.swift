import Foundation
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
    /// True aborts the worker process (SIGABRT) after the sleep, if the worker allows it
    /// (``Handlers/init(_:noopMayCrash:)``). Otherwise the job fails permanently.
    public var crash: Bool?
    /// What it returns: any JSON.
    public var output: JSONValue?

    public init(
        sleepMilliseconds: Int? = nil, fail: Failure? = nil, crash: Bool? = nil, output: JSONValue? = nil
    ) {
        self.sleepMilliseconds = sleepMilliseconds
        self.fail = fail
        self.crash = crash
        self.output = output
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case sleepMilliseconds = "sleep_ms"
        case fail, crash, output
    }

    private static let quotedKeys = CodingKeys.allCases.map { Array("\"\($0.rawValue)\"".utf8) }

    /// Decodes all but the output, which only ``init(payload:)`` reads: a decoder can't be asked what it holds.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        sleepMilliseconds = try fields.decodeIfPresent(Int.self, forKey: .sleepMilliseconds)
        fail = try fields.decodeIfPresent(Failure.self, forKey: .fail)
        crash = try fields.decodeIfPresent(Bool.self, forKey: .crash)
    }

    /// An object without any known key needs no JSON decoder. Decoding would take 1.2 µs of the 7 µs that a worker
    /// spends on a no-op job.
    public init(payload: JSONB) throws {
        let isPlain = payload.bytes.first == UInt8(ascii: "{") && !payload.bytes.withUnsafeBytes(Self.mentionsKeys)
        self = isPlain ? Noop() : try payload.decode(Self.self)
        guard !isPlain, case .object(let fields) = try JSONValue(payload) else { return }
        output = fields[CodingKeys.output.rawValue].flatMap { $0 == .null ? nil : $0 }
    }

    private static func mentionsKeys(_ json: UnsafeRawBufferPointer) -> Bool {
        var rest = json[...]
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")) {
            rest = rest[quote...]
            if quotedKeys.contains(where: { rest.starts(with: $0) }) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}

struct NoopHandler: JobHandler {
    var mayCrash = false

    func run(_ job: Noop, in context: JobContext) async throws -> Outcome {
        if let sleep = job.sleepMilliseconds { try await Task.sleep(for: .milliseconds(sleep)) }
        if job.crash == true {
            guard mayCrash else { return .fail(reason: "asked to crash, which this worker doesn't allow") }
            abort()
        }
        switch job.fail {
        case .transient: return .retry(after: nil, reason: "asked to fail: transient")
        case .permanent: return .fail(reason: "asked to fail: permanent")
        case nil: return try job.output.map { try .done($0) } ?? .done
        }
    }
}
