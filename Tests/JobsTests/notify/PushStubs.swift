import AppTestKit
import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import PushKit
import Synchronization
import Testing

@testable import Jobs

/// Stubs of Apple's and Google's servers, and the services that send to them.
struct PushStubs: Sendable {
    let apple: PushServer
    let google: PushServer
    let services: PushServices

    /// - Parameters:
    ///   - environment: which of Apple's servers the stub is; nil takes the devices of both.
    ///   - atApple: what Apple responds.
    ///   - atGoogle: what Google responds.
    init(
        environment: String? = nil,
        atApple: @escaping @Sendable (PushRequest) -> PushResponse = { _ in .accepted },
        atGoogle: @escaping @Sendable (PushRequest) -> PushResponse = { _ in .accepted }
    ) async throws {
        apple = try await PushServer(atApple)
        let dialect = GoogleDialect()
        google = try await PushServer(google: dialect, atGoogle)
        let key = try APNsKey(pem: apple.pem, id: PushServer.keyID, team: PushServer.team)
        var apns = try APNsConfiguration(server: apple.url, topic: PushServer.topic, key: key)
        apns.authorities = try apple.authorities
        // A busy machine may take longer than the defaults for a connection.
        (apns.limits.connect, apns.limits.response) = (.seconds(60), .seconds(60))
        let account = try FCMServiceAccount(json: dialect.account(at: google.url))
        var fcm = try FCMConfiguration(server: google.url, account: account)
        fcm.authorities = try google.authorities
        fcm.limits = apns.limits
        services = PushServices(apns: try APNsService(apns), fcm: try FCMService(fcm), environment: environment)
    }

    /// A response for the first request of each device, and acceptance from the second on.
    static func first(_ response: PushResponse) -> @Sendable (PushRequest) -> PushResponse {
        let seen = SeenTokens()
        return { seen.insert($0.token) ? response : .accepted }
    }

    /// Google's response to a token of an app that was removed.
    static let unregistered = PushResponse.reply(
        404,
        #"{"error":{"code":404,"status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}"#
    )

    /// Google's response to a token of another project.
    static let mismatched = PushResponse.reply(
        403,
        #"{"error":{"code":403,"status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"SENDER_ID_MISMATCH"}]}}"#
    )

    private final class SeenTokens: Sendable {
        private let tokens = Mutex(Set<String>())

        func insert(_ token: String) -> Bool { tokens.withLock { $0.insert(token).inserted } }
    }
}

/// Runs `body` with a queue that sends to the stubs, or by other services.
func withNotifications(
    _ stubs: PushStubs? = nil, by services: PushServices? = nil, _ body: (TestQueue) async throws -> Void
) async throws {
    let pushes = try #require(services ?? stubs?.services)
    var worker = WorkerConfiguration()
    worker.queues = ["pushes": 50]
    let handlers: [any JobHandler] = [
        NotificationAPNsHandler(pushes: pushes), NotificationFCMHandler(pushes: pushes),
        NotificationAPNsBatchHandler(pushes: pushes), NotificationFCMBatchHandler(pushes: pushes),
    ]
    try await withAppQueue(handlers, worker: worker, body)
    // The services alone do not keep their servers alive.
    withExtendedLifetime(stubs) {}
}

/// A push service whose credentials are set while it runs.
final class LateCredentials: PushService {
    private let unset: UnsetPushes
    private let present: any PushService
    private let isSet = Mutex(false)

    init(_ present: any PushService, unset: UnsetPushes) {
        self.present = present
        self.unset = unset
    }

    private var service: any PushService { isSet.withLock(\.self) ? present : unset }

    var route: PushRoute { service.route }

    func set() { isSet.withLock { $0 = true } }

    func send(_ push: Push, at present: Date, by deadline: ContinuousClock.Instant) async throws(PushError) -> String? {
        try await service.send(push, at: present, by: deadline)
    }

    func stop() async {}
}
