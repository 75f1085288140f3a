import AsyncHTTPClient
import Foundation
import NIOHTTP1

/// Sends pushes to Google by FCM HTTP v1. All pushes share one access token.
///
/// A push on a connection that was lost is sent again, at most twice. With a ``Push/collapseID``, the phone shows it
/// once then.
public final class FCMService: PushService {
    private static let mostRepeats = 2
    /// The longest time that Google keeps a message, in seconds.
    private static let longestLife: Int64 = 2_419_200
    private static let mostBytes = 4_096

    private let client: PushClient
    private let address: String
    private let tokens: AccessTokens

    /// Opens no connection.
    ///
    /// - Throws: ``PushError`` with code `misconfigured` if the file of authorities can't be read.
    public init(_ configuration: FCMConfiguration) throws(PushError) {
        client = try PushClient(of: "FCM", authorities: configuration.authorities, limits: configuration.limits)
        address = "\(configuration.address.url)/v1/projects/\(configuration.account.project)/messages:send"
        tokens = AccessTokens(of: configuration.account, client: client)
    }

    public var route: PushRoute { .fcm }

    /// Pushes in progress keep their connection until their response.
    public func stop() async {}

    public func send(
        _ push: Push, at present: Date, by deadline: ContinuousClock.Instant
    ) async throws(PushError) -> String? {
        let start = ContinuousClock.now
        var hasRenewed = false
        var repeats = 0
        while true {
            let now = ContinuousClock.now
            guard !Task.isCancelled else { throw PushError(.interrupted, reason: "stopped before it was sent") }
            guard now < deadline else { throw PushError(.expired, reason: "too late to be sent") }
            let time = present + (now - start) / .seconds(1)
            do throws(PushError) {
                let token = try await tokens.token(at: time)
                let response = try await send(push, with: token, at: time, within: deadline - .now)
                if response.verdict == .renewToken, !hasRenewed {
                    hasRenewed = true
                    await tokens.refused(token)
                    continue
                }
                if let error = response.error { throw error }
                return response.name
            } catch {
                guard error.code == .interrupted, repeats < Self.mostRepeats, !Task.isCancelled else { throw error }
                repeats += 1
                // The client takes a moment to notice that its connection is gone.
                try? await Task.sleep(for: .milliseconds(20 * repeats))
            }
        }
    }

    private func send(
        _ push: Push, with token: String, at time: Date, within span: Duration
    ) async throws(PushError) -> FCMResponse {
        var request = HTTPClientRequest(url: address)
        request.method = .POST
        request.headers = ["authorization": "Bearer \(token)", "content-type": "application/json"]
        request.body = .bytes(try Self.message(push, at: time))
        let (status, headers, body) = try await client.execute(request, within: span)
        return FCMResponse(status: status, retryAfter: headers.first(name: "retry-after"), body: body, at: time)
    }

    /// The request's body: the payload, with the device's token and what Android makes of the push.
    static func message(_ push: Push, at time: Date) throws(PushError) -> [UInt8] {
        guard push.payload.count <= mostBytes else {
            throw PushError(.refused, reason: "payload: expected at most \(mostBytes) bytes, got \(push.payload.count)")
        }
        guard let object = try? JSONSerialization.jsonObject(with: Data(push.payload)),
            var message = object as? [String: Any]
        else { throw PushError(.refused, reason: "payload: expected a JSON object") }
        message["token"] = push.deviceToken
        let life = min(max(0, push.expiration - Int64(time.timeIntervalSince1970)), longestLife)
        var android = message["android"] as? [String: Any] ?? [:]
        android["priority"] = push.priority >= 10 ? "HIGH" : "NORMAL"
        android["ttl"] = "\(life)s"
        if let collapseID = push.collapseID {
            android["collapse_key"] = collapseID
            // A repeated push replaces the first one on the screen too.
            if message["notification"] != nil {
                var shown = android["notification"] as? [String: Any] ?? [:]
                shown["tag"] = collapseID
                android["notification"] = shown
            }
        }
        message["android"] = android
        guard
            let bytes = try? JSONSerialization.data(
                withJSONObject: ["message": message], options: [.sortedKeys, .withoutEscapingSlashes])
        else { throw PushError(.refused, reason: "payload: expected a JSON object") }
        return Array(bytes)
    }
}
