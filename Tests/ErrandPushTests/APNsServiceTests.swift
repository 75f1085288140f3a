import Foundation
import Logging
import PushKit
import Synchronization
import Testing

@testable import ErrandPush
@testable import Outbound

@Suite("Apple's push service") struct APNsServiceTests {
    @Test("a push is sent over HTTP/2 and TLS with all headers that Apple requires, in one request")
    func sends() async throws {
        let server = try await PushServer()
        let service = try service(of: server)
        let push = push("a1", collapseID: "one")
        let id = try await send(push, by: service)
        let request = try #require(server.accepted.first)
        #expect(id == push.id.uuidString.lowercased())
        #expect(request.headers[":method"] == "POST" && request.headers[":path"] == "/3/device/\(push.deviceToken)")
        #expect(request.headers["apns-topic"] == "com.example.moments.push-type.liveactivity")
        #expect(request.headers["apns-push-type"] == "liveactivity" && request.headers["apns-priority"] == "10")
        #expect(request.headers["apns-expiration"] == "1795262719" && request.headers["apns-collapse-id"] == "one")
        #expect(request.headers["accept-encoding"] == nil && request.headers["content-encoding"] == nil)
        #expect(request.event == "end" && request.timestamp == 17)
    }

    @Test("many concurrent pushes, one at a time at first: one connection, one provider token, each push once")
    func many() async throws {
        let server = try await PushServer()
        let service = try service(of: server)
        try await sendAll(200, by: service)
        #expect(server.accepted.count == 200 && Set(server.accepted.map(\.token)).count == 200)
        #expect(server.connections == 1)
        #expect(Set(server.accepted.map(\.bearer)).count == 1)
    }

    @Test("with one request at a time for ever all get through")
    func single() async throws {
        var options = PushServer.Options()
        options.streams = 1
        let server = try await PushServer(options: options)
        // As many as a busy machine sends one after the other before one of them times out.
        try await sendAll(25, by: try service(of: server))
        #expect(server.accepted.count == 25 && server.connections == 1)
    }

    @Test(
        "GOAWAY, resets and broken connections in mid-flight: what was not looked at is sent again, at once and once",
        arguments: [PushResponse.goAway, .reset(accepting: false), .close(accepting: false)])
    func interrupted(fault: PushResponse) async throws {
        let hit = Mutex(Set<String>())
        let server = try await PushServer { request in
            // The first attempt of each tenth push meets the fault.
            let number = Int(request.token.suffix(4), radix: 16) ?? 0
            guard number % 10 == 5, hit.withLock({ $0.insert(request.token).inserted }) else {
                return .after(.milliseconds(5), .accepted)
            }
            return fault
        }
        let service = try service(of: server)
        try await sendAll(50, by: service, again: true)
        #expect(Set(server.accepted.map(\.token)).count == 50, "lost none")
        #expect(hit.withLock(\.count) == 5)
    }

    @Test("a connection that Apple ends for idleness costs nothing: the next push has another one")
    func idle() async throws {
        var options = PushServer.Options()
        options.idle = .milliseconds(200)
        let server = try await PushServer(options: options)
        let service = try service(of: server)
        for number in 0..<3 {
            try await send(push("\(number)"), by: service)
            let start = ContinuousClock.now
            while server.openConnections > 0 {
                try #require(ContinuousClock.now - start < .seconds(30))
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        #expect(server.accepted.count == 3 && server.connections >= 3)
    }

    @Test(
        "what Apple says ends as it should, at the first response",
        arguments: [
            (410, "Unregistered", PushError.Code.tokenGone), (400, "BadDeviceToken", .tokenGone),
            (400, "BadTopic", .refused), (413, "PayloadTooLarge", .refused), (429, "TooManyRequests", .deviceBusy),
            (500, "InternalServerError", .unavailable), (503, "ServiceUnavailable", .unavailable),
            (403, "InvalidProviderToken", .misconfigured), (403, "ExpiredProviderToken", .misconfigured),
        ])
    func responses(status: Int, reason: String, code: PushError.Code) async throws {
        let server = try await PushServer { _ in .status(status, reason) }
        let service = try service(of: server)
        let push = push("a1")
        let error = await #expect(throws: PushError.self) { try await send(push, by: service) }
        #expect(error?.code == code && error?.status == status)
        #expect(server.receipts.count == 1)
        #expect("\(error as Any)".contains(push.deviceToken) == false, "a device's token is in no error")
    }

    @Test(
        "a service that shuts down is tried again over a new connection",
        arguments: [
            (503, "Shutdown"), (400, "IdleTimeout"), (403, "UnrelatedKeyIdInToken"),
        ])
    func shutdown(status: Int, reason: String) async throws {
        let server = try await PushServer { $0.connection == 1 ? .status(status, reason) : .accepted }
        try await send(push("a1"), by: try service(of: server))
        #expect(server.receipts.map(\.request.connection) == [1, 2])
    }

    @Test("two simulated hours, 200 pushes, 4 workers: at most one provider token a worker in 20 minutes")
    func providerTokens() async throws {
        let server = try await PushServer()
        for _ in 0..<4 {
            let service = try service(of: server)
            for number in 0..<50 {
                _ = try await service.send(
                    push("\(number)"), at: Self.now + Double(number) * 144, by: .now + .seconds(60))
            }
        }
        let perConnection = Dictionary(grouping: server.accepted, by: \.connection).mapValues { requests in
            Set(requests.compactMap(\.issuedAt)).sorted()
        }
        print("F61: \(perConnection.values.map(\.count)) tokens a connection in 2 hours")
        #expect(perConnection.count == 4)
        for times in perConnection.values {
            #expect(times.count == 3)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 45 * 60 })
        }
    }

    @Test("too many provider tokens: the one before is used again")
    func tooManyTokens() async throws {
        let server = try await PushServer { request in
            request.issuedAt == Int(Self.now.timeIntervalSince1970)
                ? .accepted : .status(429, "TooManyProviderTokenUpdates")
        }
        let service = try service(of: server)
        for minutes in [0.0, 51, 52] {
            _ = try await service.send(push("a1"), at: Self.now + minutes * 60, by: .now + .seconds(60))
        }
        #expect(server.receipts.map(\.status) == [200, 429, 200, 200])
    }

    @Test("nothing is sent at the deadline or later, and a response that doesn't come is not waited for")
    func late() async throws {
        let server = try await PushServer { _ in .silence }
        let service = try service(of: server)
        let past = await #expect(throws: PushError.self) {
            try await service.send(push("a1"), at: Self.now, by: .now)
        }
        #expect(past?.code == .expired && server.receipts.isEmpty)
        let start = ContinuousClock.now
        let silent = await #expect(throws: PushError.self) {
            try await service.send(push("a1"), at: Self.now, by: .now + .milliseconds(500))
        }
        #expect(silent?.code == .timedOut && ContinuousClock.now - start < .seconds(30))
    }

    @Test("a server that refuses connections, and one with an untrusted certificate, are unreachable")
    func unreachable() async throws {
        let server = try await PushServer()
        var distrusting = try configuration(of: server)
        distrusting.authorities = nil
        distrusting.limits.connect = .milliseconds(500)
        let distrustful = try APNsService(distrusting)
        let refusal = await #expect(throws: PushError.self) { try await send(push("a1"), by: distrustful) }
        #expect(refusal?.code == .unreachable)
        let service = try service(of: server, connect: .milliseconds(500))
        try await server.stop()
        let refused = await #expect(throws: PushError.self) { try await send(push("a1"), by: service) }
        #expect(refused?.code == .unreachable)
        try await server.start()
        // On a busy machine, a connection may take longer.
        for _ in 1...100 where server.accepted.isEmpty { _ = try? await send(push("a1"), by: service) }
        #expect(server.accepted.count >= 1)
    }

    @Test("with the log, each push is a log line without the device's token and its content")
    func log() async throws {
        let lines = CapturedLogLines()
        let service = PushLog(logger: Logger(label: "test") { _ in CapturedLogLines.Handler(lines: lines) })
        var said = push("a1")
        said.payload = Array(#"{"aps":{"alert":{"body":"Are you there?"}}}"#.utf8)
        #expect(try await send(said, by: service) == nil)
        let line = try #require(lines.all.first)
        #expect(lines.all.count == 1 && line.contains("\(said.id)"))
        #expect(!line.contains("Are you there?") && !line.contains(said.deviceToken))
        #expect(service.route == .log)
        let late = await #expect(throws: PushError.self) {
            try await service.send(push("a1"), at: Self.now, by: .now)
        }
        #expect(late?.code == .expired)
        #expect(!"\(push("a1"))".contains(push("a1").deviceToken))
    }

    @Test("without a key no push is accepted, and the error names the missing setting")
    func unset() async throws {
        let service = UnsetPushes()
        #expect(service.route == .none)
        let error = await #expect(throws: PushError.self) { try await send(push("a1"), by: service) }
        #expect(error?.code == .misconfigured && error?.fault == .configuration)
        #expect(error?.reason.contains("APNS_KEY") == true)
    }

    private static let now = Date(timeIntervalSince1970: 1_795_233_919)

    /// - Parameter connect: how long a connection may take; a busy machine may take longer than the default.
    private func configuration(
        of server: PushServer, connect: Duration = .seconds(60)
    ) throws -> APNsConfiguration {
        let key = try APNsKey(pem: server.pem, id: PushServer.keyID, team: PushServer.team)
        var configuration = try APNsConfiguration(server: server.url, topic: PushServer.topic, key: key)
        configuration.authorities = try server.authorities
        (configuration.limits.connect, configuration.limits.response) = (connect, .seconds(60))
        return configuration
    }

    private func service(of server: PushServer, connect: Duration = .seconds(60)) throws -> APNsService {
        try APNsService(try configuration(of: server, connect: connect))
    }

    private func push(_ token: String, collapseID: String? = nil) -> Push {
        let payload = LiveActivityPayload(.end, timestamp: 17, contentState: Array("{}".utf8))
        return Push(
            to: String(repeating: "0", count: 64 - token.count) + token, kind: .liveActivity, expiration: 1_795_262_719,
            collapseID: collapseID, payload: payload.bytes)
    }

    @discardableResult
    private func send(_ push: Push, by service: some PushService) async throws -> String? {
        try await service.send(push, at: Self.now, by: .now + .seconds(60))
    }

    /// Sends that many pushes, 50 at a time.
    ///
    /// - Parameter again: whether a push whose connection was lost repeatedly is sent again, like a retry of its job.
    private func sendAll(_ count: Int, by service: APNsService, again: Bool = false) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<50 {
                group.addTask {
                    for number in stride(from: sender, to: count, by: 50) {
                        let push = push(String(number, radix: 16))
                        // Faults of other pushes may meet the same push more than once.
                        for attempt in 1...10 {
                            do {
                                try await send(push, by: service)
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
