import CoreMetrics
import Postgres

/// Counts how often a connection came back: once for each loss, with the first success after it.
struct ReconnectCount {
    private let counter: Counter?
    private var isLost = false

    init(_ counter: Counter?) {
        self.counter = counter
    }

    /// Notes a failure; those that are no loss of the connection don't count.
    mutating func failed(with error: any Error) {
        if (error as? PostgresError)?.code == .connectionLost { lost() }
    }

    mutating func lost() { isLost = true }

    mutating func succeeded() {
        if isLost { counter?.increment() }
        isLost = false
    }
}
