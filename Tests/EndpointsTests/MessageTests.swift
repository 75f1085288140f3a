import Errand
import Foundation
import Logging
import NIOHTTP1
import Testing

@testable import Endpoints

@Suite("Signed requests") struct MessageTests {
    @Test("a signature is that of Standard Webhooks")
    func vector() throws {
        // The example of the convention's own libraries.
        let secret = try #require(EndpointSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let message = #"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#
        #expect(secret.signature(of: Array(message.utf8)) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test("a request has its job's id, its time and a signature of both with the body")
    func headers() throws {
        let secrets = try EndpointSecrets("shop=\(CallKit.secret)")
        let message = Message(
            CallKit.request(), secrets: try #require(secrets["shop"]), callbackBase: "https://errand.test",
            sentAt: 1_795_233_919)
        #expect(message.body == Array(#"{"order": 17}"#.utf8))
        let signature = secrets["shop"]?[0].signature(of: Array(#"job_17.1795233919.{"order": 17}"#.utf8))
        let expected = [
            "content-type": "application/json", "webhook-id": "job_17", "webhook-timestamp": "1795233919",
            "webhook-signature": signature, "errand-kind": "send_mail", "errand-queue": "default",
            "errand-attempt": "1", "errand-max-attempts": "5",
            "errand-callback": "https://errand.test/v1/signals/17.9.00ff",
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ]
        for (name, value) in expected { #expect(message.headers[name] == [value].compactMap(\.self), "\(name)") }
    }

    @Test("each attempt has the same id, and its own number and signature")
    func attempts() throws {
        let secrets = try #require(try EndpointSecrets("shop=\(CallKit.secret)")["shop"])
        let messages = [(1, 100), (2, 160)].map { attempt, time in
            Message(CallKit.request(attempt: attempt), secrets: secrets, callbackBase: "", sentAt: Int64(time)).headers
        }
        func values(_ name: String) -> [String] { messages.flatMap { $0[name] } }
        #expect(values("webhook-id") == ["job_17", "job_17"])
        #expect(values("errand-attempt") == ["1", "2"])
        #expect(Set(values("webhook-signature")).count == 2)
        #expect(values("errand-callback") == ["/v1/signals/17.9.00ff", "/v1/signals/17.9.00ff"])
    }

    @Test("while a secret is replaced, both sign")
    func rotation() throws {
        let old = "whsec_\(Data(repeating: 7, count: 32).base64EncodedString())"
        let both = try #require(try EndpointSecrets("shop=\(CallKit.secret) \(old)")["shop"])
        let message = Message(CallKit.request(), secrets: both, callbackBase: "", sentAt: 100)
        let signed = Array(#"job_17.100.{"order": 17}"#.utf8)
        let expected = [CallKit.secret, old].compactMap { EndpointSecret($0)?.signature(of: signed) }
        #expect(message.headers["webhook-signature"] == [expected.joined(separator: " ")])
    }

    @Test(
        "secrets are a name and one or two keys each, with commas or line breaks between",
        arguments: [
            "shop=\(key),mail=\(key)", "shop=\(key)\nmail=\(key)\n", " shop = \(key) \(other) \r\n\n mail=\(key),",
        ])
    func forms(text: String) throws {
        let secrets = try EndpointSecrets(text)
        #expect(secrets["shop"] != nil && secrets["mail"] != nil && secrets["other"] == nil)
    }

    @Test(
        "what is no list of secrets is refused, without showing it",
        arguments: [
            "", ",", "shop", "shop=", "=\(key)", "shop=topsecret", "shop=whsec_", "shop=whsec_!!!!", "shop=whsec_AAAA",
            "shop=\(key) topsecret", "shop=\(key) \(key) \(key)", "shop=\(key),shop=\(key)", "a b=\(key)",
            "shop=\(String(key.dropLast()))", "shop=whsec_\(Data(count: 65).base64EncodedString())",
        ])
    func refused(text: String) {
        let error = #expect(throws: MalformedSecrets.self) { try EndpointSecrets(text) }
        let shown = error.map { "\($0)" } ?? ""
        #expect(!shown.contains("topsecret") && !shown.contains(Self.key))
    }

    @Test("a secret isn't shown, however it is printed")
    func quiet() throws {
        let secrets = try EndpointSecrets("shop=\(Self.key)")
        var dumped = ""
        dump(secrets, to: &dumped)
        for text in ["\(secrets)", String(reflecting: secrets), dumped] {
            #expect(!text.contains("MfKQ") && !text.contains("49, 242"))
        }
    }

    @Test("secrets of a file are read again when it has changed, and stay in force while it is malformed")
    func file() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("secrets-\(UUID().uuidString)").path
        func write(_ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        }
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: UnreadableSecrets.self) { try SecretSource(path: path, logger: Logger(label: "test")) }
        try write("shop=\(Self.key)")
        let source = try SecretSource(path: path, logger: Logger(label: "test"))
        let start = ContinuousClock.now
        #expect(source.current(at: start)["shop"]?.count == 1)
        try write("shop=\(Self.other) \(Self.key)")
        #expect(source.current(at: start + .milliseconds(999))["shop"]?.count == 1)
        #expect(source.current(at: start + .seconds(1))["shop"]?.count == 2)
        try write("shop=topsecret")
        #expect(source.current(at: start + .seconds(2))["shop"]?.count == 2)
        try FileManager.default.removeItem(atPath: path)
        #expect(source.current(at: start + .seconds(3))["shop"]?.count == 2)
        try write("mail=\(Self.key)")
        let last = source.current(at: start + .seconds(4))
        #expect(last["shop"] == nil && last["mail"]?.count == 1)
    }

    private static let key = CallKit.secret
    private static let other = "whsec_\(Data(repeating: 7, count: 24).base64EncodedString())"
}
