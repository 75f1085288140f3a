import Foundation
import PushKit
import Synchronization
import Testing

@testable import ErrandPush
@testable import Outbound

@Suite("Google's push service") struct FCMServiceTests {
    @Test(
        "a push is sent with all that Android needs, in one request beside the one for the token",
        arguments: [true, false])
    func sends(isHTTP2: Bool) async throws {
        let google = GoogleDialect(isHTTP2: isHTTP2)
        let server = try await PushServer(google: google)
        let payload = try NotificationPayload(title: "Ada", body: "A \"new\" moment", data: ["moment_id": "7"])
        let push = Push(
            to: "abc:DEF_1-2", kind: .alert, expiration: Int64(Self.now.timeIntervalSince1970) + 90, collapseID: "m",
            payload: payload.bytes(for: .fcm))
        let name = try await send(push, by: try service(of: server, google))
        let request = try #require(server.messages.first)
        #expect(name == "projects/moments-1/messages/2" && server.receipts.count == 2)
        #expect(request.headers["authorization"] == "Bearer ya29.1")
        #expect(request.headers["content-type"] == "application/json")
        let message = try #require(request.message)
        #expect(message["token"] as? String == "abc:DEF_1-2")
        #expect(message["notification"] as? [String: String] == ["title": "Ada", "body": "A \"new\" moment"])
        #expect(message["data"] as? [String: String] == ["moment_id": "7"])
        let android = try #require(message["android"] as? [String: Any])
        #expect(android["priority"] as? String == "HIGH" && android["ttl"] as? String == "90s")
        #expect(android["collapse_key"] as? String == "m")
        #expect((android["notification"] as? [String: String]) == ["tag": "m"])
    }

    @Test("what a payload says of Android stays, beside priority, life and collapse")
    func styled() throws {
        let payload = try NotificationPayload(body: "Hi", style: .init(channel: "moments"))
        let push = Push(to: "abc", kind: .alert, expiration: 90, collapseID: "m", payload: payload.bytes(for: .fcm))
        let body = try FCMService.message(push, at: Date(timeIntervalSince1970: 0))
        let whole = try JSONSerialization.jsonObject(with: Data(body)) as? [String: [String: Any]]
        let android = try #require(whole?["message"]?["android"] as? [String: Any])
        #expect(android["notification"] as? [String: String] == ["channel_id": "moments", "tag": "m"])
        #expect(android["priority"] as? String == "HIGH" && android["ttl"] as? String == "90s")
    }

    @Test("a push that shows nothing has data alone, and one of low priority waits for the device")
    func background() async throws {
        let google = GoogleDialect()
        let server = try await PushServer(google: google)
        let payload = try NotificationPayload(data: ["clear": "all"])
        let push = Push(
            to: "abc", kind: .background, priority: 5, expiration: 0, collapseID: "clear",
            payload: payload.bytes(for: .fcm))
        try await send(push, by: try service(of: server, google))
        let message = try #require(server.messages.first?.message)
        #expect(message["notification"] == nil && message["data"] as? [String: String] == ["clear": "all"])
        let android = try #require(message["android"] as? [String: Any])
        #expect(android["priority"] as? String == "NORMAL" && android["ttl"] as? String == "0s")
        #expect(android["notification"] == nil)
    }

    @Test("500 pushes in a burst: each once, over one connection, with one access token")
    func burst() async throws {
        let google = GoogleDialect()
        var options = PushServer.Options()
        options.firstStreams = 100
        let server = try await PushServer(google: google, options: options)
        try await sendAll(500, by: try service(of: server, google))
        #expect(server.messages.count == 500 && Set(server.messages.map(\.token)).count == 500)
        #expect(google.granted == 1 && server.connections == 1)
    }

    @Test(
        "GOAWAY, resets and broken connections in mid-flight: what was not looked at is sent again, at once and once",
        arguments: [PushResponse.goAway, .reset(accepting: false), .close(accepting: false)], [true, false])
    func interrupted(fault: PushResponse, isHTTP2: Bool) async throws {
        let hit = Mutex(Set<String>())
        let google = GoogleDialect(isHTTP2: isHTTP2)
        let server = try await PushServer(google: google) { request in
            // The first attempt of each tenth push meets the fault.
            guard request.token.hasSuffix("5"), hit.withLock({ $0.insert(request.token).inserted }) else {
                return .after(.milliseconds(5), .accepted)
            }
            return fault
        }
        try await sendAll(50, by: try service(of: server, google), again: true)
        #expect(Set(server.messages.map(\.token)).count == 50, "lost none")
        #expect(hit.withLock(\.count) == 5)
    }

    @Test("what Google says ends as it should, at the first response", arguments: GoogleFailure.all)
    func responses(failure: GoogleFailure) async throws {
        let google = GoogleDialect()
        let server = try await PushServer(google: google) { _ in
            .reply(failure.status, failure.body, headers: failure.headers)
        }
        let push = push("device-1")
        let service = try service(of: server, google)
        let error = await #expect(throws: PushError.self) { try await send(push, by: service) }
        #expect(error?.code == failure.code && error?.status == failure.status)
        #expect(error?.retryAfter == failure.retryAfter)
        #expect(server.receipts.count == 2)
        #expect("\(error as Any)".contains(push.deviceToken) == false, "a device's token is in no error")
    }

    @Test("a refused access token is renewed once, and twice refused the operator must act")
    func unauthenticated() async throws {
        let google = GoogleDialect()
        let server = try await PushServer(google: google)
        let service = try service(of: server, google)
        try await send(push("1"), by: service)
        google.revoke()
        try await send(push("2"), by: service)
        #expect(server.messages.count == 2 && google.granted == 2)
        let refusing = try await PushServer(google: google) { _ in .status(401, "UNAUTHENTICATED") }
        let error = await #expect(throws: PushError.self) {
            try await send(push("3"), by: try self.service(of: refusing, google))
        }
        #expect(error?.code == .misconfigured && error?.fault == .configuration)
        #expect(refusing.receipts.filter { $0.request.message != nil }.count == 2)
    }

    @Test("an access token is renewed 5 minutes before its end, once for all that wait, and a renewal may fail")
    func renewal() async throws {
        let google = GoogleDialect(life: 3600)
        let server = try await PushServer(google: google)
        let service = try service(of: server, google)
        for minutes in [0.0, 54, 56, 100] {
            try await sendAll(50, by: service, at: Self.now + minutes * 60)
        }
        #expect(server.messages.count == 200 && google.granted == 2)
        google.deny(.reply(503, "", headers: ["retry-after": "7"]))
        let down = await #expect(throws: PushError.self) {
            _ = try await service.send(push("1"), at: Self.now + 7200, by: .now + .seconds(60))
        }
        #expect(down?.code == .unavailable && down?.retryAfter == .seconds(7))
        google.deny(.reply(400, #"{"error":"invalid_grant","error_description":"Invalid JWT"}"#))
        let wrong = await #expect(throws: PushError.self) {
            _ = try await service.send(push("1"), at: Self.now + 7200, by: .now + .seconds(60))
        }
        #expect(wrong?.code == .misconfigured && wrong?.reason == "no access token: invalid_grant")
        google.deny(nil)
        _ = try await service.send(push("1"), at: Self.now + 7200, by: .now + .seconds(60))
        #expect(google.granted == 3)
    }

    @Test("nothing is sent at the deadline or later, and a response that doesn't come is not waited for")
    func late() async throws {
        let google = GoogleDialect()
        let server = try await PushServer(google: google) { _ in .silence }
        let service = try service(of: server, google)
        let past = await #expect(throws: PushError.self) {
            try await service.send(push("1"), at: Self.now, by: .now)
        }
        #expect(past?.code == .expired && server.receipts.isEmpty)
        let start = ContinuousClock.now
        let silent = await #expect(throws: PushError.self) {
            try await service.send(push("1"), at: Self.now, by: .now + .seconds(2))
        }
        #expect(silent?.code == .timedOut && ContinuousClock.now - start < .seconds(30))
    }

    @Test("a server that refuses connections, and one with an untrusted certificate, are unreachable")
    func unreachable() async throws {
        let google = GoogleDialect()
        let server = try await PushServer(google: google)
        let account = try FCMServiceAccount(json: google.account(at: server.url))
        var configuration = try FCMConfiguration(server: server.url, account: account)
        configuration.limits.connect = .milliseconds(500)
        let distrusting = try FCMService(configuration)
        let refusal = await #expect(throws: PushError.self) { try await send(push("1"), by: distrusting) }
        #expect(refusal?.code == .unreachable)
        let service = try service(of: server, google, connect: .milliseconds(500))
        try await server.stop()
        let refused = await #expect(throws: PushError.self) { try await send(push("1"), by: service) }
        #expect(refused?.code == .unreachable && refused?.isUnreachable == true)
        try await server.start()
        // On a busy machine, a connection may take longer.
        for _ in 1...100 where server.messages.isEmpty { _ = try? await send(push("1"), by: service) }
        #expect(server.messages.count >= 1)
    }

    @Test(
        "a payload that Google would refuse is not sent",
        arguments: [String(repeating: "x", count: 4_097), "[1]", "no"])
    func payload(text: String) async throws {
        let google = GoogleDialect()
        let server = try await PushServer(google: google)
        var push = push("1")
        push.payload = Array(text.utf8)
        let service = try service(of: server, google)
        let error = await #expect(throws: PushError.self) { try await send(push, by: service) }
        #expect(error?.code == .refused && error?.reason.contains("expected") == true && server.messages.isEmpty)
    }

    @Test("a service account shows its project, and an error of it nothing of its text")
    func account() throws {
        let json = try GoogleDialect().account(at: "https://127.0.0.1:1")
        let account = try FCMServiceAccount(json: json)
        #expect("\(account)" == "errand@moments-1.iam.gserviceaccount.com of project moments-1, secret hidden")
        for (part, other) in [
            ("BEGIN", "BOGUS"), ("https:", "http:"), ("project_id", "project"), ("moments-1\"", "a/b\""),
        ] {
            let error = #expect(throws: MalformedServiceAccount.self) {
                try FCMServiceAccount(json: json.replacing(part, with: other))
            }
            #expect(error?.description.contains("expected") == true && error?.description.contains("MII") == false)
        }
    }

    private static let now = Date(timeIntervalSince1970: 1_795_233_919)

    /// - Parameter connect: how long a connection may take; a busy machine may take longer than the default.
    private func service(
        of server: PushServer, _ google: GoogleDialect, connect: Duration = .seconds(60)
    ) throws -> FCMService {
        let account = try FCMServiceAccount(json: try google.account(at: server.url))
        var configuration = try FCMConfiguration(server: server.url, account: account)
        configuration.authorities = try server.authorities
        (configuration.limits.connect, configuration.limits.response) = (connect, .seconds(60))
        return try FCMService(configuration)
    }

    private func push(_ token: String) -> Push {
        Push(to: token, kind: .alert, expiration: 1_795_262_719, payload: Array(#"{"data":{}}"#.utf8))
    }

    @discardableResult
    private func send(_ push: Push, by service: some PushService) async throws -> String? {
        try await service.send(push, at: Self.now, by: .now + .seconds(60))
    }

    /// Sends that many pushes, 50 at a time.
    ///
    /// - Parameter again: whether a push whose connection was lost repeatedly is sent again, like a retry of its job.
    private func sendAll(
        _ count: Int, by service: FCMService, at present: Date = FCMServiceTests.now, again: Bool = false
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<50 {
                group.addTask {
                    for number in stride(from: sender, to: count, by: 50) {
                        for attempt in 1...10 {
                            do {
                                _ = try await service.send(push("d\(number)"), at: present, by: .now + .seconds(60))
                                break
                            } catch let error as PushError where again && attempt < 10 && error.code == .interrupted {
                                continue
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// A failure of Google's table "FCM error codes", and what it has to become.
struct GoogleFailure: Sendable, CustomTestStringConvertible {
    let status: Int
    var name: String?
    var details = ""
    var headers: [String: String] = [:]
    let code: PushError.Code
    var retryAfter: Duration?

    var testDescription: String { "\(status) \(name ?? "HTML") \(details)" }

    var body: String {
        guard let name else { return "<html><h1>Bad Gateway</h1></html>" }
        return #"{"error":{"code":\#(status),"message":"no","status":"\#(name)","details":[\#(details)]}}"#
    }

    static func fcm(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    static let token =
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token"}]}"#
    static let other =
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.data"}]}"#

    static let all = [
        GoogleFailure(status: 404, name: "NOT_FOUND", details: fcm("UNREGISTERED"), code: .tokenGone),
        GoogleFailure(status: 404, name: "NOT_FOUND", code: .tokenGone),
        GoogleFailure(status: 404, code: .misconfigured),
        GoogleFailure(
            status: 400, name: "INVALID_ARGUMENT", details: "\(fcm("INVALID_ARGUMENT")),\(token)", code: .tokenGone),
        GoogleFailure(
            status: 400, name: "INVALID_ARGUMENT", details: "\(fcm("INVALID_ARGUMENT")),\(other)", code: .refused),
        GoogleFailure(status: 400, name: "INVALID_ARGUMENT", code: .refused),
        GoogleFailure(
            status: 403, name: "PERMISSION_DENIED", details: fcm("SENDER_ID_MISMATCH"), code: .tokenGone),
        GoogleFailure(status: 403, name: "PERMISSION_DENIED", code: .misconfigured),
        GoogleFailure(
            status: 401, name: "UNAUTHENTICATED", details: fcm("THIRD_PARTY_AUTH_ERROR"), code: .misconfigured),
        GoogleFailure(
            status: 429, name: "RESOURCE_EXHAUSTED", details: fcm("QUOTA_EXCEEDED"), code: .quotaExceeded,
            retryAfter: .seconds(60)),
        GoogleFailure(
            status: 429, name: "RESOURCE_EXHAUSTED", details: fcm("QUOTA_EXCEEDED"), headers: ["retry-after": "90"],
            code: .quotaExceeded, retryAfter: .seconds(90)),
        GoogleFailure(
            status: 503, name: "UNAVAILABLE", details: fcm("UNAVAILABLE"), headers: ["retry-after": "12"],
            code: .unavailable, retryAfter: .seconds(12)),
        GoogleFailure(
            status: 503, name: "UNAVAILABLE", headers: ["retry-after": "Sat, 21 Nov 2026 04:05:49 GMT"],
            code: .unavailable, retryAfter: .seconds(30)),
        GoogleFailure(status: 500, name: "INTERNAL", details: fcm("INTERNAL"), code: .unavailable),
        GoogleFailure(status: 502, code: .unavailable),
    ]
}
