import Errand
import Postgres
import Testing

@testable import API

@Suite("What a request may have") struct SchemaTests {
    private static let schema = Schema.object([
        .init(name: "name", schema: .text(1...3, .name), description: "", isRequired: true),
        .init(name: "count", schema: .integer(1...4), description: ""),
        .init(name: "words", schema: .list(of: .text(1...2), most: 2), description: ""),
        .init(name: "at", schema: .optional(.time), description: ""),
        .init(name: "one", schema: .choice(["a", "b", "c"]), description: ""),
    ])

    @Test(
        "what fits is taken",
        arguments: [
            #"{"name": "a"}"#, #"{"name": "a-1", "count": 4.0}"#, #"{"name": "a", "words": []}"#,
            #"{"name": "a", "one": "b"}"#, #"{"name": "a", "words": ["é", "🚲🚲"]}"#, #"{"name": "a", "at": null}"#,
            #"{"name": "a", "at": "2026-11-28T22:00:00.5+01:00"}"#,
        ])
    func fits(json: String) throws {
        #expect(Self.schema.problem(of: try JSONValue(JSONB(json)), at: "body") == nil)
    }

    @Test(
        "what doesn't is refused, by its name and without its value",
        arguments: [
            ("[]", "body: expected an object, got a list"), ("{}", "name: expected a text, got nothing"),
            (#"{"name": null}"#, "name: expected a text, got null"),
            (#"{"name": "long"}"#, "name: expected 1 to 3 characters, got 4"),
            (#"{"name": "A"}"#, "name: expected a text of the form ^[a-z][a-z0-9_.-]*$, got another"),
            (#"{"name": "a", "count": 5}"#, "count: expected a whole number of 1 to 4, got another"),
            (#"{"name": "a", "count": 1.5}"#, "count: expected a whole number of 1 to 4, got another"),
            (#"{"name": "a", "count": true}"#, "count: expected a whole number, got true or false"),
            (#"{"name": "a", "words": ["a", "b", "c"]}"#, "words: expected at most 2 elements, got 3"),
            (#"{"name": "a", "words": ["a", 1]}"#, "words[1]: expected a text, got a number"),
            (#"{"name": "a", "at": "now"}"#, "at: expected 20 to 40 characters, got 3"),
            (#"{"name": "a", "one": "d"}"#, "one: expected a, b or c, got another text"),
            (#"{"name": "a", "one": 1}"#, "one: expected a, b or c, got a number"),
            (#"{"name": "a", "more": 1}"#, "body: expected no fields but name, count, words, at, one, got 'more'"),
        ])
    func refused(json: String, problem: String) throws {
        #expect(Self.schema.problem(of: try JSONValue(JSONB(json)), at: "body") == problem)
    }

    @Test("a token is random, and its hash is not in what is printed of it")
    func token() {
        let (one, other) = (APIToken(), APIToken())
        #expect(one.text != other.text && one.hash != other.hash && one.hash.bytes.count == 32)
        #expect(one.text.hasPrefix("errand_") && one.text.count == 50)
        #expect("\(one)" == "APIToken")
    }
}
