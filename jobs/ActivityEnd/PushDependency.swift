import Errand
import Logging
import Outbound
import Postgres

/// What becomes of jobs that need APNs when it fails them: the dependency `apns` of their policies.
///
/// A service that can't be reached, and one that doesn't take our key, is no fault of a job: it parks, and spends no attempt.
enum PushDependency {
    static let name = "apns"

    /// How long jobs are kept from a service whose settings somebody has to mend before one of them tries it again.
    static let mendingPause: Duration = .seconds(60)

    /// The error to end an attempt with, where that is to park the job; nil where it is to be handled as any other.
    ///
    /// What somebody has to mend is said in the log at level error; `errand.health()` and `errand.dependency_status` have it
    /// as long as it lasts.
    static func parking(_ error: PushError, in context: JobContext) async throws -> DependencyDown? {
        if error.code == .unreachable { return DependencyDown(name, reason: "\(error)") }
        guard error.fault == .configuration else { return nil }
        context.logger.error(
            "APNs has to be set up right: jobs that need it are parked", metadata: ["error": "\(error)"])
        // By the database's clock, which decides when one is due.
        let until = try await context.database.query(
            Statement("select now() + $1 * interval '1 second'", [Self.mendingPause.components.seconds])
        ).scalar(Timestamp.self)
        return DependencyDown(name, until: until, reason: "\(error)")
    }
}
