import Foundation
import Postgres

/// Jobs of a kind whose payloads this program's handlers can't decode, all for the same reason.
public struct UnreadablePayloads: Sendable, Hashable {
    public let kind: JobKind
    /// Which field is wrong, and what was expected there. It has nothing of the payload but the names of fields: keys
    /// of dictionaries are `*`, and of an error that isn't a `DecodingError` there is only the type.
    public let reason: String
    /// How many jobs.
    public internal(set) var jobs: Int
    /// One of them, the one with the lowest id.
    public let example: Int64
    /// When the oldest of them was enqueued.
    public internal(set) var oldest: Timestamp
    /// When the newest of them was enqueued.
    public internal(set) var newest: Timestamp
}

/// What ``Handlers/readPayloads(on:)`` has found.
public struct PayloadReport: Sendable, Hashable {
    /// How many payloads were read.
    public internal(set) var read = 0
    /// What can't be decoded, sorted by kind and reason.
    public internal(set) var unreadable: [UnreadablePayloads] = []
}

extension Handlers {
    /// Decodes the payloads of all unfinished and failed jobs of these kinds, as their runs would, with the middleware.
    ///
    /// For a deployment: call it in the new version before that starts. It needs the rights of `errand_ops`, reads a
    /// page at a time by id, and locks nothing.
    ///
    /// - Throws: ``PostgresError``; ``PayloadsHidden`` for a login that may not read payloads.
    /// - Complexity: one pass over the unfinished and failed jobs of all kinds, some 30 µs for each of these kinds.
    public func readPayloads(on database: Database) async throws -> PayloadReport {
        guard try await database.query("select errand_internal.sees_content()").scalar(Bool.self) else {
            throw PayloadsHidden()
        }
        var report = PayloadReport()
        var found: [String: UnreadablePayloads] = [:]
        var last = Int64.min
        while true {
            let rows = try await database.query(
                Statement(Self.page, [entries.keys.map(\.rawValue), last, Self.pageSize]))
            for row in rows {
                let (id, name, createdAt, payload) = try row.decode(
                    Int64.self, String.self, Timestamp.self, JSONB?.self)
                let kind = JobKind(rawValue: name)
                last = id
                // Deleted since.
                guard let payload, let entry = entries[kind] else { continue }
                report.read += 1
                do {
                    try entry.check(payload)
                } catch {
                    let reason = error.shapeText
                    let group = UnreadablePayloads(
                        kind: kind, reason: reason, jobs: 0, example: id, oldest: createdAt, newest: createdAt)
                    found["\(kind)\n\(reason)", default: group].add(createdAt)
                }
            }
            guard rows.count == Self.pageSize else { break }
        }
        report.unreadable = found.sorted { $0.key < $1.key }.map(\.value)
        return report
    }

    private static let pageSize = 200

    /// The ids come first, so that a payload is read only for a row of the page.
    private static let page = """
        select id, kind, created_at, payload
        from errand.jobs
        where kind = any ($1) and id > $2
            and state in ('scheduled', 'available', 'parked', 'running', 'failed')
        order by id
        limit $3
        """
}

extension UnreadablePayloads {
    fileprivate mutating func add(_ createdAt: Timestamp) {
        jobs += 1
        oldest = min(oldest, createdAt)
        newest = max(newest, createdAt)
    }
}

/// The login may not read payloads.
public struct PayloadsHidden: Error, Sendable, CustomStringConvertible {
    public var description: String { "expected a login that reads payloads, a member of errand_ops, got another" }
}

// MARK: - What is wrong
extension Error {
    /// What an error of decoding says of the form of a payload, and nothing of its content.
    fileprivate var shapeText: String {
        switch self as any Error {
        case let unfit as UnfitPayload: unfit.cause.shapeText
        case let unreadable as UnreadablePayload: unreadable.description
        case DecodingError.keyNotFound(let key, let context):
            "\(Self.path(context.codingPath + [key])): expected a value, got none"
        case DecodingError.valueNotFound(let type, let context):
            "\(Self.path(context.codingPath)): expected \(type), got null"
        case DecodingError.typeMismatch(let type, let context):
            "\(Self.path(context.codingPath)): expected \(type), got another type"
        case DecodingError.dataCorrupted(let context):
            "\(Self.path(context.codingPath)): expected another value"
        default: "payload: \(loggedClass)"
        }
    }

    /// `order.lines[2].price`. Keys whose type is Foundation's are those of dictionaries: content.
    private static func path(_ keys: [any CodingKey]) -> String {
        let path = keys.reduce(into: "") { path, key in
            let isField = !"\(type(of: key))".hasPrefix("_")
            if let index = key.intValue, !isField {
                path += "[\(index)]"
            } else {
                path += (path.isEmpty ? "" : ".") + (isField ? key.stringValue : "*")
            }
        }
        return path.isEmpty ? "payload" : path
    }
}
