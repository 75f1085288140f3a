import CoreMetrics
import Foundation
import MetricsTestKit
import Testing

@testable import ErrandPush

@Suite("Metrics of pushes") struct MeasuredPushesTests {
    @Test("each push is counted by the answer, and measured")
    func counts() async throws {
        let metrics = TestMetrics()
        let codes: [PushError.Code?] = [
            nil, nil, .tokenGone, .refused, .misconfigured, .unreachable, .deviceBusy, .quotaExceeded, .tooManyTokens,
            .unavailable, .interrupted, .timedOut, .expired,
        ]
        for code in codes {
            let service = withMetricsFactory(metrics) { MeasuredPushes(CannedService(code: code), service: "apns") }
            #expect(service.route == .apns)
            do throws(PushError) {
                #expect(try await service.send(push, at: .now, by: .now + .seconds(5)) == "id")
                #expect(code == nil)
            } catch {
                #expect(error.code == code)
            }
        }
        func count(_ outcome: String) -> Int64 {
            metrics.counterTotal(
                label: "errand_pushes_total", dimensions: [("service", "apns"), ("outcome", outcome)])
        }
        #expect(count("accepted") == 2)
        for outcome in [
            "token_gone", "refused", "misconfigured", "unreachable", "too_many_for_one_device", "quota_exceeded",
            "too_many_provider_tokens", "unavailable", "interrupted", "timed_out", "expired",
        ] {
            #expect(count(outcome) == 1, "\(outcome)")
        }
        #expect(try metrics.expectTimer("errand_push_seconds", [("service", "apns")]).values.count == codes.count)
    }

    private var push: Push {
        Push(to: "ab", kind: .alert, expiration: Int64(Date.now.timeIntervalSince1970) + 60, payload: Array("{}".utf8))
    }
}

/// Answers each push with this error, or accepts it.
private struct CannedService: PushService {
    let code: PushError.Code?
    let route = PushRoute.apns

    func send(
        _ push: Push, at present: Date, by deadline: ContinuousClock.Instant
    ) async throws(PushError) -> String? {
        if let code { throw PushError(code, reason: "asked to") }
        return "id"
    }

    func stop() async {}
}
