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

    /// An object without any known key needs no JSON decoder. Decoding would take 1.2 µs of the 7 µs that a worker
    /// spends on a no-op job.
    public init(payload: JSONB) throws {
        let isPlain = payload.bytes.first == UInt8(ascii: "{") && !payload.bytes.withUnsafeBytes(Self.mentionsKeys)
        self = isPlain ? Noop() : try payload.decode(Self.self)
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

/// Any JSON value.
public enum JSONValue: Codable, Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
