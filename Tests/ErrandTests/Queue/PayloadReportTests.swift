import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

/// A kind whose payload is a `T`, named after that.
private struct Stored<T: Codable & Sendable>: Job {
    static var kind: JobKind { JobKind(rawValue: "\(T.self)".lowercased()) }
    let value: T

    init(from decoder: any Decoder) throws { value = try T(from: decoder) }
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

private struct Ignoring<T: Codable & Sendable>: JobHandler {
    func run(_ job: Stored<T>, in context: JobContext) async throws -> Outcome { .done }
}

/// A payload as an older version stored it, and the handler of a newer one.
private struct Change: Sendable {
    let stored: String
    let handler: any JobHandler
    /// What the report says; nil: it fits.
    let problem: String?
    let kind: String

    init<T: Codable & Sendable>(_ stored: String, _ type: T.Type, _ problem: String? = nil) {
        self.stored = stored
        handler = Ignoring<T>()
        self.problem = problem
        kind = Stored<T>.kind.rawValue
    }
}

private enum Color: String, Codable, Sendable { case red, green }
private struct Line: Codable, Sendable { let price: Int }
private struct Item: Codable, Sendable { let lines: [Line] }

// What breaks.
private struct B01: Codable { let order: String }
private struct B02: Codable { let orderID: String }
private struct B03: Codable { let order: String }
private struct B04: Codable { let order: Int }
private struct B05: Codable { let order: String }
private struct B06: Codable { let isPaid: Bool }
private struct B07: Codable { let amount: Int }
private struct B08: Codable { let count: UInt8 }
private struct B09: Codable { let id: UUID }
private struct B10: Codable { let color: Color }
private struct B11: Codable { let lines: [Line] }
private struct B12: Codable { let lines: [Line] }
private struct B13: Codable { let item: Item }
private struct B14: Codable { let tags: [String] }
private struct B15: Codable { let prices: [String: Int] }
private struct B16: Codable { let at: Date }
private struct B17: Codable { let address: [String: String] }
private struct B18: Codable { let url: URL }
private struct B19: Codable { let data: Data }
private struct B20: Codable {
    let size: Int

    init(from decoder: any Decoder) throws {
        size = try decoder.singleValueContainer().decode([String: Int].self)["size"] ?? 0
        guard size > 0 else { throw Refused(canary: "canary") }
    }
}
private struct Refused: Error { let canary: String }

// What doesn't.
private struct F01: Codable { let order: String }
private struct F02: Codable { let order: String }
private struct F03: Codable { let order: String? }
private struct F04: Codable { let order: String; let note: String? }
private struct F05: Codable { let amount: Double }
private struct F06: Codable { let amount: Int }
private struct F07: Codable { let count: Int64 }
private struct F08: Codable { let color: Color }
private struct F09: Codable { let color: String }
private struct F10: Codable { let lines: [Line] }
private struct F11: Codable { let lines: [Line] }
private struct F12: Codable { let prices: [String: Int] }
private struct F13: Codable {}
private struct F14: Codable { let id: UUID }
private struct F15: Codable { let item: Item? }
private struct F16: Codable { let at: Date }
private struct F17: Codable {
    let identifier: String
    enum CodingKeys: String, CodingKey { case identifier = "order" }
}
private struct F18: Codable {
    let format: String

    init(from decoder: any Decoder) throws {
        enum Keys: CodingKey { case format }
        format = try decoder.container(keyedBy: Keys.self).decodeIfPresent(String.self, forKey: .format) ?? "csv"
    }
}
private struct F19: Codable { let url: URL }
private struct F20: Codable { let values: [String?] }

private let breaking: [Change] = [
    Change(#"{"id": "canary"}"#, B01.self, "order: expected a value, got none"),
    Change(#"{"order": "canary"}"#, B02.self, "orderID: expected a value, got none"),
    Change(#"{"order": 17}"#, B03.self, "order: expected String, got another type"),
    Change(#"{"order": "17"}"#, B04.self, "order: expected Int, got another type"),
    Change(#"{"order": null}"#, B05.self, "order: expected String, got null"),
    Change(#"{"isPaid": "canary"}"#, B06.self, "isPaid: expected Bool, got another type"),
    Change(#"{"amount": 1.5}"#, B07.self, "payload: expected another value"),
    Change(#"{"count": 300}"#, B08.self, "payload: expected another value"),
    Change(#"{"id": "canary"}"#, B09.self, "id: expected another value"),
    Change(#"{"color": "canary"}"#, B10.self, "color: expected another value"),
    Change(#"{"lines": [{"price": 1}, {"cents": 2}]}"#, B11.self, "lines[1].price: expected a value, got none"),
    Change(#"{"lines": {"price": 1}}"#, B12.self, "lines: expected Array<Any>, got another type"),
    Change(#"{"item": {"lines": [{"price": "canary"}]}}"#, B13.self, "item.lines[0].price: expected Int, got another"),
    Change(#"{"tags": ["a", null]}"#, B14.self, "tags[1]: expected String, got null"),
    Change(#"{"prices": {"canary": "x"}}"#, B15.self, "prices.*: expected Int, got another type"),
    Change(#"{"at": "canary"}"#, B16.self, "at: expected Double, got another type"),
    Change(#"{"address": "canary"}"#, B17.self, "address: expected Dictionary<String, Any>, got another type"),
    Change(#"{"url": 17}"#, B18.self, "url: expected"),
    Change(#"{"data": "canary!"}"#, B19.self, "data: expected another value"),
    Change(#"{"size": 0}"#, B20.self, "payload: Refused"),
]

private let fitting: [Change] = [
    Change(#"{"order": "x"}"#, F01.self), Change(#"{"order": "x", "dropped": 1}"#, F02.self),
    Change(#"{}"#, F03.self), Change(#"{"order": "x"}"#, F04.self), Change(#"{"amount": 1}"#, F05.self),
    Change(#"{"amount": 1.0}"#, F06.self), Change(#"{"count": 5000000000}"#, F07.self),
    Change(#"{"color": "red"}"#, F08.self), Change(#"{"color": "blue"}"#, F09.self),
    Change(#"{"lines": [{"price": 1, "note": "x"}]}"#, F10.self), Change(#"{"lines": []}"#, F11.self),
    Change(#"{"prices": {}}"#, F12.self), Change(#"{"order": "x"}"#, F13.self),
    Change(#"{"id": "6C1D0A6E-0000-4000-8000-000000000000"}"#, F14.self), Change(#"{"item": null}"#, F15.self),
    Change(#"{"at": 700000000.5}"#, F16.self), Change(#"{"order": "x"}"#, F17.self), Change(#"{}"#, F18.self),
    Change(#"{"url": "https://example.com"}"#, F19.self), Change(#"{"values": ["a", null]}"#, F20.self),
]

@Suite("Payloads that a deployment breaks") struct PayloadReportTests {
    @Test("20 changes that break are found and 20 that don't are not, and no content is told")
    func changes() async throws {
        let all = breaking + fitting
        try await withTestQueue(all.map(\.handler)) { test in
            for change in all {
                _ = try await test.database.query(
                    Statement("select errand.enqueue($1, $2)", [change.kind, JSONB(change.stored)]))
            }
            let report = try await test.handlers.readPayloads(on: test.database)
            #expect(report.read == 40)
            #expect(report.unreadable.map(\.kind.rawValue) == breaking.map(\.kind))
            for (found, change) in zip(report.unreadable, breaking) {
                #expect(found.reason.hasPrefix(change.problem ?? "-"), "\(change.kind): \(found.reason)")
                #expect(!found.reason.contains("canary") && found.jobs == 1 && found.oldest == found.newest)
            }
        }
    }

    @Test("waiting, scheduled, parked and failed jobs count, over several pages; large and encrypted ones are read")
    func states() async throws {
        let keys = "k1=" + Data(repeating: 1, count: 32).base64EncodedString()
        let encryption = PayloadEncryption(try PayloadKeys(keys))
        try await withTestQueue([Ignoring<B01>(), Ignoring<F01>()], middleware: [encryption]) { test in
            try await test.database.execute(
                """
                select errand.enqueue('b01', jsonb_build_object('id', n), run_at => now() + n * interval '1 hour')
                from generate_series(0, 449) as n
                """)
            try await test.database.execute(
                "select errand.enqueue('b01', jsonb_build_object('text', repeat('x', 100000)))")
            try await test.database.execute("select errand.enqueue('b02', '{}')")
            try await test.database.execute(
                """
                with job as (delete from errand.job where id = 7 returning *)
                insert into errand.failed (
                    id, created_at, run_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error)
                select id, created_at, run_at, priority, 1, 1, 0, queue, kind, payload, 'x' from job
                """)
            try await test.database.execute("update errand.job set state = 'parked', parked_for = 'x' where id = 9")
            let good = try encryption.encode(JSONB("{\"order\": \"x\"}"), of: "f01")
            let moved = try encryption.encode(JSONB("{\"order\": \"x\"}"), of: "b01")
            for payload in [good, moved] {
                _ = try await test.database.query(Statement("select errand.enqueue('f01', $1)", [payload]))
            }
            let report = try await test.handlers.readPayloads(on: test.database)
            #expect(report.read == 453)
            let (missing, refused) = (report.unreadable[0], report.unreadable[1])
            #expect(missing.jobs == 451 && missing.example == 1 && missing.oldest <= missing.newest)
            #expect(refused.jobs == 1 && refused.reason.contains("can't be decrypted"))
            #expect(report.unreadable.count == 2)
        }
    }

    @Test("a login without the right to read payloads is refused")
    func rights() async throws {
        try await withTestQueue([Ignoring<F01>()]) { test in
            let monitor = Database(configuration: test.configuration, maximumConnections: 1)
            try await monitor.execute("set role errand_monitor")
            await #expect(throws: PayloadsHidden.self) { try await test.handlers.readPayloads(on: monitor) }
            await monitor.close()
        }
    }
}
