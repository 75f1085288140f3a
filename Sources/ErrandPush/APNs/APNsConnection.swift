import AsyncHTTPClient
import Foundation
import NIOHTTP1

/// A connection to APNs, and the requests on it. It is closed when the last request has completed.
final class APNsConnection: Sendable {
    private let client: PushClient
    private let address: String
    private let topic: String

    /// - Throws: ``PushError`` with code `misconfigured` if the file of authorities can't be read.
    init(_ configuration: APNsConfiguration) throws(PushError) {
        client = try PushClient(of: "APNs", authorities: configuration.authorities, limits: configuration.limits)
        address = "\(configuration.address.url)/3/device/"
        topic = configuration.topic
    }

    /// Sends a push once, and waits for its response.
    ///
    /// - Throws: ``PushError`` if none came: `unreachable`, `unavailable`, `interrupted` or `timedOut`.
    func send(
        _ push: Push, with token: String, within span: Duration
    ) async throws(PushError) -> (response: APNsResponse, id: String?) {
        let (status, headers, body) = try await client.execute(request(push, with: token), within: span)
        return (APNsResponse(status: status, body: body), headers.first(name: "apns-id"))
    }

    private func request(_ push: Push, with token: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address + push.deviceToken)
        request.method = .POST
        let suffix = push.kind == .liveActivity ? ".push-type.liveactivity" : ""
        request.headers = [
            "authorization": "bearer \(token)", "apns-topic": topic + suffix, "apns-push-type": push.kind.rawValue,
            "apns-priority": "\(push.priority)", "apns-expiration": "\(push.expiration)",
            "apns-id": push.id.uuidString.lowercased(),
        ]
        if let collapseID = push.collapseID { request.headers.add(name: "apns-collapse-id", value: collapseID) }
        request.body = .bytes(push.payload)
        return request
    }
}
