import CoreMetrics
import Postgres

/// Counts reconnects: the first success after each loss of a connection.
struct ReconnectCount {
    private let counter: Counter?
    private var isLost = false

    init(_ counter: Counter?) {
        self.counter = counter
    }

    /// Records a failure. Only losses of the connection count.
    mutating func failed(with error: any Error) {
        if (error as? PostgresError)?.code == .connectionLost { lost() }
    }

    mutating func lost() { isLost = true }

    mutating func succeeded() {
        if isLost { counter?.increment() }
        isLost = false
    }
}
