import Logging
import Postgres

/// One run of a claimed job: runs its handler, and makes a completion of what that returns or throws.
package final class Attempt: Sendable {
    let job: ClaimedJob
    let entry: Handlers.Entry?
    let context: JobContext
    package let claimedAt: ContinuousClock.Instant
    /// The key of the chunk that it gathers in; nil if it begins alone, as a job does that was running in a crash.
    let chunkKey: String?

    package init(
        _ job: ClaimedJob, entry: Handlers.Entry?, context: JobContext, claimedAt: ContinuousClock.Instant
    ) {
        self.job = job
        self.entry = entry
        self.context = context
        self.claimedAt = claimedAt
        chunkKey = job.crashes == 0 ? entry?.chunk?.key(job.payload) : nil
    }

    package var control: AttemptControl { context.control }

    /// Nil while it has not begun.
    var deadline: ContinuousClock.Instant? { control.begunAt.map { $0 + (entry?.policy.deadline ?? .zero) } }

    package func run() async -> Completion {
        let start = ContinuousClock.now
        var end =
            if let tracer = context.environment.tracer {
                await AttemptSpan(of: job, by: tracer).around { await completion(in: $0) }
            } else {
                await completion(in: nil)
            }
        end.took = .now - start
        if chunkKey != nil, let group = control.group {
            group.ended(job.id)
            end.together = group.size
        }
        return end
    }

    private func completion(in span: AttemptSpan?) async -> Completion {
        // Claims ask for known kinds only, so this can only be a fault of the worker.
        guard let entry else {
            return .failed(job, error: "this worker has no handler for \(job.kind)").caused(by: "no handler")
        }
        // What the handler has committed with its own writes is final, whatever it did after that.
        do {
            // That of a chunk is taken once for all of its jobs.
            let memory = entry.chunk == nil ? entry.policy.memory : 0
            let outcome = try await context.withMemory(memory) { try await entry.run(job, context) }
            return context.control.committed ?? Completion(outcome, of: job)
        } catch {
            span?.threw(error)
            return (context.control.committed ?? completion(afterThrown: error, entry.policy)).caused(
                by: cause(of: error))
        }
    }

    private func cause(of error: any Error) -> String {
        context.interruption == .deadline ? "deadline exceeded" : error.loggedClass
    }

    private func completion(afterThrown error: any Error, _ policy: JobPolicy) -> Completion {
        switch context.interruption {
        case .shutdown:
            return .released(job)
        case .deadline:
            return .failure(job, error: "deadline of \(policy.deadline) exceeded")
        case .cancelled, .leaseLost, nil:
            switch error {
            case let down as Unavailable:
                return .parked(job, circuit: down.circuit, until: down.until, reason: down.reason)
            case let refused as CompletionRefused where refused.isUnwanted:
                return .obsolete(job, reason: "\(refused)")
            case let classified as any ClassifiedError where classified.isPermanent:
                return .failed(job, error: error.recordedText)
            default:
                return .failure(job, error: error.recordedText)
            }
        }
    }
}

extension Attempt {
    /// The completion of an attempt that didn't stop when asked to. Its task goes on, but what it returns is ignored.
    package func abandoned(because interruption: Interruption) -> Completion {
        var end: Completion =
            switch interruption {
            case .deadline:
                .failure(job, error: "deadline exceeded, and the handler did not stop when it was cancelled")
                    .caused(by: "deadline exceeded")
            case .shutdown, .cancelled, .leaseLost:
                .released(job)
            }
        end = control.committed ?? end
        end.took = control.begunAt.map { .now - $0 } ?? .zero
        return end
    }
}
