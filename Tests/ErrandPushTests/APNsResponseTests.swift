import Foundation
import Testing

@testable import ErrandPush

@Suite("Responses of APNs") struct APNsResponseTests {
    @Test(
        "every status and reason has its verdict",
        arguments: [
            (200, "", .accepted),
            (400, "BadDeviceToken", .tokenGone), (400, "DeviceTokenNotForTopic", .tokenGone),
            (400, "BadCollapseId", .refused), (400, "BadExpirationDate", .refused), (400, "BadMessageId", .refused),
            (400, "BadPriority", .refused), (400, "BadTopic", .refused), (400, "DuplicateHeaders", .refused),
            (400, "InvalidPushType", .refused), (400, "MissingDeviceToken", .refused), (400, "MissingTopic", .refused),
            (400, "PayloadEmpty", .refused), (400, "TopicDisallowed", .refused), (400, "IdleTimeout", .reconnect),
            (403, "ExpiredProviderToken", .renewToken), (403, "InvalidProviderToken", .misconfigured),
            (403, "MissingProviderToken", .misconfigured), (403, "BadCertificate", .misconfigured),
            (403, "BadCertificateEnvironment", .misconfigured), (403, "Forbidden", .misconfigured),
            (403, "UnrelatedKeyIdInToken", .reconnect), (403, "BadEnvironmentKeyIdInToken", .misconfigured),
            (404, "BadPath", .refused), (405, "MethodNotAllowed", .refused),
            (410, "Unregistered", .tokenGone), (410, "ExpiredToken", .tokenGone), (413, "PayloadTooLarge", .refused),
            (429, "TooManyRequests", .deviceBusy), (429, "TooManyProviderTokenUpdates", .keepToken),
            (500, "InternalServerError", .unavailable), (503, "ServiceUnavailable", .unavailable),
            (503, "Shutdown", .reconnect), (502, "", .unavailable), (301, "", .unavailable), (418, "", .refused),
        ] as [(Int, String, APNsResponse.Verdict)])
    func verdicts(status: Int, reason: String, verdict: APNsResponse.Verdict) {
        let response = APNsResponse(status: status, body: Array(#"{"reason":"\#(reason)"}"#.utf8))
        #expect(response.verdict == verdict)
        #expect((response.error == nil) == (verdict == .accepted))
        if let error = response.error, !reason.isEmpty { #expect(error.said == "\(status) \(reason)") }
    }

    @Test("since when a token is dead comes in milliseconds; a body that is none does no harm")
    func bodies() {
        let gone = APNsResponse(status: 410, body: Array(#"{"reason":"Unregistered","timestamp":1795233919123}"#.utf8))
        #expect(gone.since == Date(timeIntervalSince1970: 1_795_233_919.123))
        #expect(gone.error?.since == gone.since)
        for body in ["", "<html>", "[]", #"{"reason":17}"#] {
            let response = APNsResponse(status: 503, body: Array(body.utf8))
            #expect(response.verdict == .unavailable && response.reason.isEmpty)
        }
        #expect(APNsResponse(status: 400, body: Array(#"{"reason":"\u001b[31mBad"}"#.utf8)).reason == "mBad")
    }
}
