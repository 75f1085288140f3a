import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

/// Every field is optional, so any object would fit.
private struct Letter: Job {
    static let kind: JobKind = "letter"
    static let policy = JobPolicy(retry: .exponential(attempts: 3, first: .milliseconds(1)))
    var text: String?
}

private struct LetterHandler: FailureHandler {
    func run(_ job: Letter, in context: JobContext) async throws -> Outcome {
        guard let text = job.text, text != "bad" else { return .fail(reason: "no text") }
        return try .done(text.count)
    }

    func failed(_ job: Letter, _ failure: JobFailure, in context: JobContext) async throws -> Outcome {
        try .done(job.text)
    }
}

@Suite("Encrypted payloads") struct PayloadEncryptionTests {
    private static func key(_ byte: UInt8) -> String { Data(repeating: byte, count: 32).base64EncodedString() }
    private static let one = "k1=" + key(1)
    private static let two = "k2=" + key(2)

    private static func encryption(_ keys: String..., readsPlain: Bool = true) throws -> PayloadEncryption {
        PayloadEncryption(try PayloadKeys(keys.joined(separator: ",")), readsPlain: readsPlain)
    }

    @Test("no row has the text of a payload, and its handlers get it, also when it has failed and when it is large")
    func rows() async throws {
        let encryption = try Self.encryption(Self.one)
        try await withTestQueue([LetterHandler()], middleware: [encryption]) { test in
            let large = String(repeating: "canary", count: 25_000)
            try await test.queue.enqueue(Letter(text: "canary"))
            try await test.queue.enqueue(all: [Letter(text: "bad"), Letter(text: large)])
            let stored = try await test.database.query("select string_agg(j::text, '') from errand.job as j")
            #expect(!(try stored.scalar(String.self).contains("canary")))
            let kids = try await test.database.query(
                "select distinct payload ->> 'kid', payload ->> '$enc' from errand.job where payload is not null")
            #expect(try kids.map { try $0.decode(String.self, String.self) }.map { "\($0)\($1)" } == ["k11"])
            #expect(Set(try await test.drain().outcomes) == [.succeeded, .failed])
            let outputs = try await test.database.query(
                "select output::text from errand.history where output is not null order by id"
            ).column(0, as: String.self)
            #expect(outputs == ["6", "150000", "\"bad\""])
        }
    }

    @Test("what Python has written is read, and the other way round: clients/python/tests/test_encryption.py")
    func python() throws {
        let stored = JSONB(
            #"{"c": "cm9EF5zNjBOu4mujeA/NGyWxt+9uvBdBScgaVD8VJ9ZZrZG+mgtuVk/n", "n": "D+Q0eSTXDUlXY0mn", "kid": "k2", "$enc": 1}"#
        )
        let read = try Self.encryption(Self.one, Self.two).decode(stored, of: "letter")
        #expect(try read.decode([String: String].self) == ["text": "Grüße"])
    }

    @Test("a new key writes while the older ones still read")
    func rotation() throws {
        let kinds: Set<JobKind> = ["letter"]
        let payload = JSONB("{\"text\":\"x\"}")
        let old = try Self.encryption(Self.one).encode(payload, of: "letter")
        let both = try Self.encryption(Self.two, Self.one)
        #expect(try both.decode(old, of: "letter") == payload)
        let new = try both.encode(payload, of: "letter")
        #expect(new.text.contains("\"kid\":\"k2\""))
        #expect(try both.encode(payload, of: "letter") != new)
        let some = PayloadEncryption(try PayloadKeys(Self.two), of: kinds, readsPlain: false)
        #expect(try some.encode(payload, of: "note") == payload)
        #expect(try some.decode(payload, of: "note") == payload)
        #expect(try some.decode(new, of: "letter") == payload)
    }

    @Test(
        "another key, kind or text is a permanent error without content",
        arguments: [
            ("k1", "note", "can't be decrypted"), ("other k1", "letter", "can't be decrypted"),
            ("k2", "letter", "expected a key that this worker has, got 'k1'"), ("k1", "changed", "can't be decrypted"),
            ("k1", "form", "expected {\"$enc\": 1"), ("k1", "plain", "expected an encrypted one"),
            ("none", "letter", "expected a worker with its keys"),
        ])
    func errors(keys: String, what: String, expected: String) async throws {
        let payload = JSONB("{\"text\":\"canary\"}")
        let readers = [
            "k1": Self.one, "k2": Self.two, "other k1": "k1=" + Self.key(3), "none": nil,
        ]
        let reader = try readers[keys].flatMap(\.self).map { [try Self.encryption($0, readsPlain: false)] } ?? []
        var stored = try Self.encryption(Self.one).encode(payload, of: what == "note" ? "note" : "letter")
        if what == "changed" {
            let found = try stored.decode(EncryptedPayload.self)
            var c = found.c
            c[0] ^= 1
            stored = try JSONB(encoding: EncryptedPayload(kid: found.kid, n: found.n, c: c))
        }
        if what == "form" { stored = JSONB("{\"$enc\":2,\"kid\":\"k1\"}") }
        if what == "plain" { stored = payload }
        try await withTestQueue([LetterHandler()], middleware: reader) { test in
            let id = try await test.database.query(
                Statement("select job_id from errand.enqueue('letter', $1)", [stored])
            ).scalar(Int64.self)
            #expect(try await test.drain().attempts.first?.outcome == .failed)
            let error = try #require(try await test.job(id).reason)
            #expect(error.contains(expected) && !error.contains("canary"), "\(error)")
        }
    }

    @Test(
        "keys that can't be used are refused without being shown",
        arguments: ["", "k1", "k1=", "k1=c2hvcnQ=", "=\(key(1))", "k 1=\(key(1))", "\(one),\(one)", "\(one),\(key(2))"])
    func malformed(text: String) throws {
        let error = try #require(throws: MalformedPayloadKeys.self) { try PayloadKeys(text) }
        #expect(!error.description.contains(Self.key(1)) && error.description.contains("expected"))
    }

    @Test("keys show nothing but their ids, and a file may have one a line")
    func shown() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        try Data("\(Self.two)\n\(Self.one)\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let keys = try PayloadKeys(path: file.path)
        #expect(keys.writing == "k2" && keys.ids == ["k1", "k2"])
        var dumped = ""
        dump(PayloadEncryption(keys), to: &dumped)
        for text in ["\(keys)", String(reflecting: keys), "\(PayloadEncryption(keys))", dumped] {
            #expect(!text.contains(Self.key(1)) && !text.contains("bytes"))
        }
        #expect(throws: MalformedPayloadKeys(entry: 0)) { try PayloadKeys(path: "/no/such/file") }
    }
}
