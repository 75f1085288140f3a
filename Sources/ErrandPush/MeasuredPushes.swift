import FoundationEssentials
import Metrics

/// A push service whose pushes are counted by the service's answer.
///
/// ```swift
/// let apns = MeasuredPushes(try APNsService(configuration), service: "apns")
/// ```
/// The metrics are `errand_pushes_total`, by service and outcome, and `errand_push_seconds`, by service. Without a
/// backend of swift-metrics nothing is counted. No label has a token.
public struct MeasuredPushes: PushService {
    private let base: any PushService
    private let service: String
    private let factory: (any MetricsFactory)?

    /// - Parameters:
    ///   - base: the service that sends.
    ///   - service: the value of the label `service`, such as `apns`.
    public init(_ base: any PushService, service: String) {
        self.base = base
        self.service = service
        let factory = MetricsSystem.factory
        self.factory = factory is NOOPMetricsHandler ? nil : factory
    }

    public var route: PushRoute { base.route }

    public func send(
        _ push: Push, at present: Date, by deadline: ContinuousClock.Instant
    ) async throws(PushError) -> String? {
        let start = ContinuousClock.now
        do {
            let id = try await base.send(push, at: present, by: deadline)
            count("accepted", since: start)
            return id
        } catch {
            count(error.code.label, since: start)
            throw error
        }
    }

    public func stop() async { await base.stop() }

    /// Handles are looked up each time: a push takes a thousand times as long.
    private func count(_ outcome: String, since start: ContinuousClock.Instant) {
        guard let factory else { return }
        Counter(
            label: "errand_pushes_total", dimensions: [("service", service), ("outcome", outcome)], factory: factory
        ).increment()
        Timer(label: "errand_push_seconds", dimensions: [("service", service)], factory: factory)
            .record(duration: .now - start)
    }
}

extension PushError.Code {
    /// The code as the value of a label: `token_gone`.
    var label: String { name.replacing(" ", with: "_") }
}
