import Errand
import Foundation
import Postgres
import Testing

@testable import Endpoints

@Suite("What a response means for the job") struct ResponseTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        var type: String?
        var retryAfter: String?
        var body = ""
        let reply: EndpointReply

        var testDescription: String { "\(status) \(type ?? "") \(retryAfter ?? "") \(body.prefix(40))" }
    }

    private static let json = "application/json"
    private static let notJSON = EndpointReply.failed(
        reason: "status 200: expected JSON, as its content-type says, got something else", cause: "malformed output")

    private static func failed(_ status: Int, _ said: String = "") -> EndpointReply {
        .failed(reason: "status \(status)\(said)", cause: "status \(status)")
    }

    private static func refused(_ status: Int, _ said: String = "") -> EndpointReply {
        .refused(reason: "status \(status)\(said)", cause: "status \(status)")
    }

    static let rows: [Row] =
        [
            Row(status: 200, reply: .done(output: nil)), Row(status: 204, reply: .done(output: nil)),
            Row(status: 200, type: json, reply: .done(output: nil)),
            Row(status: 200, type: json, body: #"{"id": 1}"#, reply: .done(output: JSONB(#"{"id": 1}"#))),
            Row(
                status: 201, type: "Application/JSON; charset=utf-8", body: "[1]",
                reply: .done(output: JSONB("[1]"))),
            Row(status: 299, type: "application/hal+json", body: "1.5", reply: .done(output: JSONB("1.5"))),
            Row(status: 200, type: json, body: #""\\u0000""#, reply: .done(output: JSONB(#""\\u0000""#))),
            Row(status: 200, type: "text/html", body: "<p>", reply: .done(output: nil)),
            Row(status: 200, body: #"{"id": 1}"#, reply: .done(output: nil)),
            Row(status: 200, type: json, body: "<p>", reply: notJSON),
            Row(status: 200, type: json, body: #"{"id": 1"#, reply: notJSON),
            Row(status: 200, type: json, body: #"{"id": 1}{"id": 2}"#, reply: notJSON),
            Row(status: 200, type: json, body: #"{"text": "\u0000"}"#, reply: notJSON),
            Row(status: 200, type: json, body: #"{"text": "\\\u0000"}"#, reply: notJSON),
            Row(status: 200, type: json, body: "\u{FEFF}{}", reply: notJSON),
            Row(status: 200, type: json, body: "NaN", reply: notJSON),
            Row(status: 200, type: json, body: String(repeating: "[", count: 10_000), reply: notJSON),
            Row(status: 202, type: json, body: #"{"id": 1}"#, reply: .accepted),
            Row(status: 301, reply: .refused(reason: "status 301: redirects are not followed", cause: "status 301")),
            Row(status: 304, reply: .refused(reason: "status 304: redirects are not followed", cause: "status 304")),
            Row(status: 410, reply: .gone(reason: "status 410")),
            Row(status: 429, reply: failed(429)), Row(status: 503, reply: failed(503)),
            Row(status: 429, retryAfter: "soon", reply: failed(429)),
            Row(status: 500, retryAfter: "60", reply: failed(500)),
            Row(
                status: 400, type: json, body: #"{"error": "no order 17"}"#, reply: refused(400, ": no order 17")),
            Row(
                status: 500, type: "application/problem+json", body: #"{"error": "a\r\n\u001b[2Jb"}"#,
                reply: failed(500, ": a   [2Jb")),
            Row(
                status: 400, type: json, body: #"{"error": "\#(String(repeating: "e", count: 501))"}"#,
                reply: refused(400, ": \(String(repeating: "e", count: 500))")),
            Row(status: 400, body: #"{"error": "in plain text"}"#, reply: refused(400)),
            Row(status: 400, type: json, body: #"{"error": {"a": 1}}"#, reply: refused(400)),
        ]
        + [
            ("60", 60), ("0", 1), ("-1", 1), ("9999999", 86_400), ("Sat, 21 Nov 2026 04:05:49 GMT", 30),
            ("Sat, 21 Nov 2026 03:00:00 GMT", 1), ("Sun, 21 Nov 2027 03:00:00 GMT", 86_400),
        ].flatMap { text, seconds in
            [429, 503].map {
                Row(
                    status: $0, retryAfter: text,
                    reply: .busy(for: .seconds(seconds), reason: "status \($0)"))
            }
        }
        + [400, 401, 403, 404, 405, 409, 413, 422, 451, 499].map { Row(status: $0, reply: refused($0)) }
        + [408, 425, 500, 501, 502, 504, 599, 100, 999].map { Row(status: $0, reply: failed($0)) }

    @Test("each status has its reply", arguments: rows)
    func replies(row: Row) {
        let response = Response(
            status: row.status, contentType: row.type, retryAfter: row.retryAfter, body: Array(row.body.utf8))
        #expect(response.reply(at: now) == row.reply)
    }

    @Test("bytes that aren't UTF-8, and JSON in another coding, are no output")
    func codings() {
        for bytes in [[0x22, 0xFF, 0x22], Array(Data(#"{"a":1}"#.data(using: .utf16) ?? Data()))] as [[UInt8]] {
            let response = Response(status: 200, contentType: Self.json, body: bytes)
            #expect(response.reply(at: now) == Self.notJSON)
        }
    }

    @Test("an output that is too large fails the job for good, and an error that is too large says nothing")
    func truncated() {
        var output = Response(status: 200, contentType: Self.json, body: Array("[1]".utf8))
        output.isTruncated = true
        #expect(
            output.reply(at: now)
                == .refused(
                    reason: "output: expected at most 262144 bytes as text, got more", cause: "output too large"))
        var error = Response(status: 500, contentType: Self.json, body: Array(#"{"error": "a"}"#.utf8))
        error.isTruncated = true
        #expect(error.reply(at: now) == Self.failed(500))
    }

    /// 2026-11-21 04:05:19 UTC.
    private let now = Date(timeIntervalSince1970: 1_795_233_919)
}
