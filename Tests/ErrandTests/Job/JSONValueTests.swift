import Postgres
import Testing

@testable import Errand

@Suite("A JSON value") struct JSONValueTests {
    @Test("each sort of value is read as what it is, and written again")
    func sorts() throws {
        let json = JSONB(#"{"a":[null,true,false,0,1,-2.5,"","x",[],{}],"b":{"c":"é"}}"#)
        let value = try JSONValue(json)
        #expect(
            value
                == .object([
                    "a": .array([
                        .null, .bool(true), .bool(false), .number(0), .number(1), .number(-2.5), .string(""),
                        .string("x"), .array([]), .object([:]),
                    ]), "b": .object(["c": .string("é")]),
                ]))
        #expect(try JSONValue(JSONB(encoding: value)) == value)
        #expect(try JSONValue(JSONB("7")) == .number(7))
        for broken in ["", "{", "[1e400]", #"{"a": nope}"#] {
            #expect(throws: (any Error).self) { try JSONValue(JSONB(broken)) }
        }
    }

    @Test("no decoder reads it: that takes a second for 3 KB of objects within each other")
    func isNotDecodable() throws {
        #expect(!((JSONValue.self as Any) is any Decodable.Type))
        let levels = 505
        let nested = String(repeating: #"{"":"#, count: levels) + "1" + String(repeating: "}", count: levels)
        var value = try JSONValue(JSONB(nested))
        for _ in 0..<levels {
            guard case .object(let fields) = value else { break }
            value = fields[""] ?? .null
        }
        #expect(value == .number(1))
    }

    @Test("a noop job has any output, and none if it is null; another field of a wrong type is named")
    func noop() throws {
        let job = try Noop(payload: JSONB(#"{"sleep_ms": 5, "fail": "permanent", "output": {"hello": [1, true]}}"#))
        #expect(job.sleepMilliseconds == 5 && job.fail == .permanent)
        #expect(job.output == .object(["hello": .array([.number(1), .bool(true)])]))
        #expect(try Noop(payload: JSONB(encoding: job)).output == job.output)
        #expect(try Noop(payload: JSONB(#"{"output": null}"#)).output == nil)
        let error = #expect(throws: DecodingError.self) { try Noop(payload: JSONB(#"{"sleep_ms": "5"}"#)) }
        guard case .typeMismatch(_, let context)? = error else {
            Issue.record("expected a mismatch, got \(error as Any)")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["sleep_ms"])
    }
}
