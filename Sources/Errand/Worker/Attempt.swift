import Logging
import Postgres

/// One run of a claimed job: finds its handler, runs it, and turns what comes of it into a settlement.
final class Attempt: Sendable {
    let job: ClaimedJob
    let entry: Handlers.Entry?
    let context: JobContext
    let startedAt: ContinuousClock.Instant
    let deadline: ContinuousClock.Instant
    /// Takes its end, and its slot where it is dropped.
    let loop: ClaimLoop

    init(
        _ job: ClaimedJob, entry: Handlers.Entry?, context: JobContext, startedAt: ContinuousClock.Instant,
        loop: ClaimLoop
    ) {
        self.job = job
        self.entry = entry
        self.context = context
        self.startedAt = startedAt
        self.loop = loop
        deadline = startedAt + (entry?.policy.deadline ?? .zero)
    }

    var control: AttemptControl { context.control }

    func run() async -> Settlement {
        let start = ContinuousClock.now
        let ending = await ending()
        return Settlement(job: job, ending: ending, took: .now - start)
    }

    private func ending() async -> Settlement.Ending {
        // Claims ask for known kinds only, so this is a worker whose handlers and kinds have come apart.
        guard let entry else { return .failed(error: "this worker has no handler for \(job.kind)") }
        do {
            return ending(of: try await entry.run(job, context), policy: entry.policy)
        } catch {
            return ending(ofThrown: error, policy: entry.policy)
        }
    }

    private func ending(of outcome: Outcome, policy: JobPolicy) -> Settlement.Ending {
        switch outcome {
        case .done(let output): .succeeded(output: output)
        case .snooze(let pause): .snoozed(for: pause)
        case .cancel(let reason): .cancelled(reason: reason)
        case .fail(let reason): .failed(error: reason)
        case .retry(let pause, let reason): failure(reason, policy: policy, pause: pause)
        }
    }

    private func ending(ofThrown error: any Error, policy: JobPolicy) -> Settlement.Ending {
        switch context.interruption {
        case .shutdown:
            return .released
        case .deadline:
            return failure("deadline of \(policy.deadline) exceeded", policy: policy)
        case .cancelled, .leaseLost, nil:
            if let classified = error as? any ClassifiedError, classified.isPermanent {
                return .failed(error: "\(error)")
            }
            return failure("\(error)", policy: policy)
        }
    }

    private func failure(_ reason: String, policy: JobPolicy, pause: Duration? = nil) -> Settlement.Ending {
        guard job.attempt < job.maxAttempts else { return .failed(error: reason) }
        var random = SystemRandomNumberGenerator()
        return .retried(error: reason, after: pause ?? policy.retry.pause(afterAttempt: job.attempt, using: &random))
    }
}

extension Attempt {
    /// How an attempt ends that did not stop though it was asked to: its task goes on, but nothing it does counts.
    func abandoned(because interruption: Interruption) -> Settlement.Ending {
        switch interruption {
        case .deadline:
            failure(
                "deadline exceeded, and the handler did not stop when it was cancelled",
                policy: entry?.policy ?? JobPolicy())
        case .shutdown, .cancelled, .leaseLost:
            .released
        }
    }
}
