import Logging
import Postgres

/// One run of a claimed job: finds its handler, runs it, and makes a completion of the result.
package final class Attempt: Sendable {
    let job: ClaimedJob
    let entry: Handlers.Entry?
    let context: JobContext
    package let claimedAt: ContinuousClock.Instant

    package init(
        _ job: ClaimedJob, entry: Handlers.Entry?, context: JobContext, claimedAt: ContinuousClock.Instant
    ) {
        self.job = job
        self.entry = entry
        self.context = context
        self.claimedAt = claimedAt
    }

    package var control: AttemptControl { context.control }

    /// Nil while it has not begun.
    var deadline: ContinuousClock.Instant? { control.begunAt.map { $0 + (entry?.policy.deadline ?? .zero) } }

    package func run() async -> Completion {
        let start = ContinuousClock.now
        let result =
            if let tracer = context.environment.tracer {
                await AttemptSpan(of: job, by: tracer).around { await self.result(in: $0) }
            } else {
                await result(in: nil)
            }
        return Completion(job: job, result: result, took: .now - start)
    }

    private func result(in span: AttemptSpan?) async -> AttemptResult {
        // Claims ask for known kinds only, so this can only be a fault of the worker.
        guard let entry else {
            return .failed(error: "this worker has no handler for \(job.kind)").caused(by: "no handler")
        }
        do {
            let outcome = try await context.withMemory(entry.policy.memory) { try await entry.run(job, context) }
            return committed ?? AttemptResult(outcome, of: job, entry.policy)
        } catch {
            span?.threw(error)
            return (committed ?? result(ofThrown: error, policy: entry.policy)).caused(by: cause(of: error))
        }
    }

    /// A completion that the handler committed with its own writes is final, whatever it did after that.
    private var committed: AttemptResult? { context.control.commit.map { .committed($0) } }

    private func cause(of error: any Error) -> String {
        context.interruption == .deadline ? "deadline exceeded" : error.loggedClass
    }

    private func result(ofThrown error: any Error, policy: JobPolicy) -> AttemptResult {
        switch context.interruption {
        case .shutdown:
            return .released
        case .deadline:
            return .failure("deadline of \(policy.deadline) exceeded", of: job, policy)
        case .cancelled, .leaseLost, nil:
            switch error {
            case let down as Unavailable:
                return .parked(circuit: down.circuit, until: down.until, reason: down.reason)
            case let refused as CompletionRefused where refused.isUnwanted:
                return .obsolete(reason: "\(refused)")
            case let classified as any ClassifiedError where classified.isPermanent:
                return .failed(error: error.recordedText)
            default:
                return .failure(error.recordedText, of: job, policy)
            }
        }
    }
}

extension Attempt {
    /// The result of an attempt that didn't stop when asked to. Its task goes on, but its result is ignored.
    package func abandoned(because interruption: Interruption) -> AttemptResult {
        if let committed { return committed }
        return switch interruption {
        case .deadline:
            .failure(
                "deadline exceeded, and the handler did not stop when it was cancelled", of: job,
                entry?.policy ?? JobPolicy()
            ).caused(by: "deadline exceeded")
        case .shutdown, .cancelled, .leaseLost:
            .released
        }
    }
}
