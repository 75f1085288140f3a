import Errand
import Logging
import Outbound
import Postgres

/// A service outside of the database that jobs need, and what becomes of them when it fails them: the dependency of their
/// policies.
///
/// A service that can't be reached, and one whose keys, rights or settings are wrong, is no fault of a job: it parks, and
/// spends no attempt. What the service answers, though it could have done the work, spends one.
struct OutboundDependency {
    static let storage = OutboundDependency(
        name: "storage", wantsMending: "the object store has to be mended: jobs that need it are parked")
    /// Room in the store: what takes none, and what makes some, goes on without it.
    static let storageSpace = OutboundDependency(
        name: "storage_space", wantsMending: "the object store has to be mended: jobs that need it are parked")
    static let apns = OutboundDependency(
        name: "apns", wantsMending: "APNs has to be set up right: jobs that need it are parked")

    /// How long jobs are kept from a service that somebody has to mend before one of them tries it again.
    static let mendingPause: Duration = .seconds(60)

    let name: String
    private let wantsMending: Logger.Message

    /// The error to end an attempt with, where that is to park the job; nil where it is to be handled as any other.
    ///
    /// What somebody has to mend is said in the log at level error; `errand.health()` and `errand.dependency_status` have it
    /// as long as it lasts.
    func parking(_ error: any Error, in context: JobContext) async throws -> DependencyDown? {
        guard let error = error as? any OutboundError else { return nil }
        if error.isUnreachable { return DependencyDown(name, reason: "\(error)") }
        guard error.fault == .configuration else { return nil }
        context.logger.error(wantsMending, metadata: ["error": "\(error)"])
        // By the database's clock, which decides when one is due.
        let until = try await context.database.query(
            Statement("select now() + $1 * interval '1 second'", [Self.mendingPause.components.seconds])
        ).scalar(Timestamp.self)
        return DependencyDown(name, until: until, reason: "\(error)")
    }
}
