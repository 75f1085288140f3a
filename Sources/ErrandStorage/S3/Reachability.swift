import Outbound

/// Tracks whether a server is reachable. After a failure other callers fail at once for a short time, so that a server
/// that is down or comes back gets one connection and not all of them.
///
/// A pure decision: the time is passed in.
struct Reachability {
    /// How long one failure counts for all callers. For a server that is down it is less than the second after which
    /// the queue retries. For a misconfigured one it is long enough for all jobs of a claim.
    static func retryDelay(after error: StorageError) -> Duration {
        error.fault == .configuration ? .seconds(5) : .milliseconds(800)
    }

    private var failure: (error: StorageError, at: Duration)?
    /// When the current attempt began. Other callers don't wait for its result.
    private var triedAt: Duration?

    /// The error to throw at once; nil if the caller should try.
    mutating func refusal(at now: Duration) -> StorageError? {
        guard let failure else { return nil }
        if now - max(failure.at, triedAt ?? failure.at) < Self.retryDelay(after: failure.error) { return failure.error }
        triedAt = now
        return nil
    }

    /// An attempt has completed, with this error or successfully.
    mutating func tried(_ error: StorageError?, at now: Duration) {
        failure = error.flatMap { $0.code == .unreachable || $0.fault == .configuration ? ($0, now) : nil }
        triedAt = nil
    }
}
