import Foundation
import Logging
import Postgres

/// How far the clock of this host is from the database's, and when to log it.
///
/// The times of jobs, leases and schedules are the database's. A wrong clock of this host makes wrong times in its log,
/// and signatures that an object store refuses.
struct ClockSkew {
    /// A smaller difference is not logged, in seconds.
    static let limit: Double = 60
    /// How long after one line the next may come.
    static let interval: Duration = .seconds(600)

    private var last: ContinuousClock.Instant?

    /// Compares the clocks by one round trip, which bounds the difference.
    ///
    /// - Parameters:
    ///   - server: the database's time, from within the round trip.
    ///   - sent: this host's time before it.
    ///   - received: this host's time after it.
    /// - Returns: the difference to log, in seconds, positive if this host's clock is ahead; nil if there is nothing to
    ///   log.
    mutating func seconds(
        server: Date, sent: Date, received: Date, at now: ContinuousClock.Instant
    ) -> Double? {
        let ahead = sent.timeIntervalSince(server)
        let behind = server.timeIntervalSince(received)
        guard max(ahead, behind) > Self.limit else {
            // The next wrong clock is news.
            last = nil
            return nil
        }
        if let last, now - last < Self.interval { return nil }
        last = now
        return ahead > behind ? ahead : -behind
    }
}

extension ClockSkew {
    /// Logs the difference if it is large, and news.
    mutating func log(server: Timestamp, sent: Date, received: Date = .now, to logger: Logger) {
        guard let seconds = seconds(server: server.date, sent: sent, received: received, at: .now) else { return }
        logger.warning(
            "this host's clock differs from the database's", metadata: ["skew_seconds": .stringConvertible(seconds)])
    }
}
