/// Runs the jobs of one kind. What it needs is passed to its initializer.
///
/// A job runs at least once: it runs again after a crash, so its effects must be idempotent. The task of an attempt is
/// cancelled at its deadline, when an operator cancels the job, when the worker loses its lease, and after the grace
/// period of a shutdown. ``JobContext/interruption`` says which.
public protocol JobHandler<Payload>: Sendable {
    associatedtype Payload: Job

    /// Does the job once.
    func run(_ job: Payload, in context: JobContext) async throws -> Outcome
}
