import Outbound

/// Tracks whether a server is reachable, and what it refuses. After a failure other callers fail at once for a short
/// time, so that a server that is down or comes back gets one connection and not all of them.
///
/// A server that is down, and one that doesn't accept the credentials or has no such bucket, counts for all that it is
/// asked. A missing right counts for requests of the same sort alone: who may not delete can still read and write.
///
/// A pure decision: the time is passed in.
struct Reachability {
    /// What a request does, as far as rights differ.
    enum Operation: Hashable {
        case read, write, delete, list
    }

    private struct Failure {
        let error: StorageError
        let at: Duration
        /// When the current attempt began. Other callers don't wait for its result.
        var triedAt: Duration?

        mutating func refusal(at now: Duration) -> StorageError? {
            if now - max(at, triedAt ?? at) < Reachability.retryDelay(after: error) { return error }
            triedAt = now
            return nil
        }
    }

    /// How long one failure counts for other callers. For a server that is down it is less than the second after which
    /// the queue retries. For a misconfigured one it is long enough for all jobs of a claim.
    static func retryDelay(after error: StorageError) -> Duration {
        error.fault == .configuration ? .seconds(5) : .milliseconds(800)
    }

    private var all: Failure?
    private var refused: [Operation: Failure] = [:]

    /// The error to throw at once; nil if the caller should try.
    mutating func refusal(of operation: Operation, at now: Duration) -> StorageError? {
        all?.refusal(at: now) ?? refused[operation]?.refusal(at: now)
    }

    /// An attempt has completed, with this error or successfully.
    mutating func tried(_ operation: Operation, _ error: StorageError?, at now: Duration) {
        let failure = error.map { Failure(error: $0, at: now) }
        let lasts = error.map { $0.code == .unreachable || $0.fault == .configuration } ?? false
        let isOfOperation = error?.isAboutRights ?? false
        all = lasts && !isOfOperation ? failure : nil
        refused[operation] = lasts && isOfOperation ? failure : nil
    }
}
