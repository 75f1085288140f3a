import Outbound

/// Whether a server was of any use just now: while it could not be reached, or refused us, nobody else asks for a moment, so
/// that a server that is down or comes back meets one connection and not all of them.
///
/// Pure: the time is passed in.
struct Reachability {
    /// How long one failure speaks for all. For a server that is down less than the second after which the queue tries again;
    /// for one that somebody has to mend as long as a claim of many jobs takes to find that out.
    static func pause(after error: StorageError) -> Duration {
        error.fault == .configuration ? .seconds(5) : .milliseconds(800)
    }

    private var failure: (error: StorageError, at: Duration)?
    /// Since when somebody finds out; the others don't wait for what comes of it.
    private var triedAt: Duration?

    /// The error to fail with at once; nil where the caller is to try.
    mutating func refusal(at now: Duration) -> StorageError? {
        guard let failure else { return nil }
        if now - max(failure.at, triedAt ?? failure.at) < Self.pause(after: failure.error) { return failure.error }
        triedAt = now
        return nil
    }

    /// A try has come to its end, with this error or without one.
    mutating func tried(_ error: StorageError?, at now: Duration) {
        failure = error.flatMap { $0.code == .unreachable || $0.fault == .configuration ? ($0, now) : nil }
        triedAt = nil
    }
}
