/// Runs the jobs of one kind. What it needs comes in by its initializer.
///
/// An attempt runs at least once: after a crash the same job runs again, so its effects must bear repetition. The task
/// of an attempt is cancelled at its deadline, when ops cancel the job, when the worker loses its lease and at the end
/// of a shutdown's grace; ``JobContext/interruption`` says which.
public protocol JobHandler<Payload>: Sendable {
    associatedtype Payload: Job

    /// Does the job once.
    func run(_ job: Payload, in context: JobContext) async throws -> Outcome
}
