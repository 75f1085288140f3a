/// Tracks which transactions' completions a process has counted, so that maintenance counts the rest if the process is
/// killed.
///
/// PostgreSQL numbers transactions in the order in which they first write. A transaction that begins after the reply to
/// another one gets a higher number. So the number of an open transaction, which isn't known yet, is above the newest
/// number that was known when it began.
package struct CountedTransactions: Sendable {
    /// More would make the worker's row long. Then the longest open transaction is left out: if the process is killed
    /// before it counts that one, its completions stay uncounted.
    static let longestList = 1000

    private var newest: Int64 = 0
    private var tickets = 0
    /// The newest transaction that was known when each one began.
    private var open: [CommitTicket: Int64] = [:]
    private var listed: Set<Int64> = []

    /// Call before a transaction begins.
    mutating func begin() -> CommitTicket {
        tickets += 1
        let ticket = CommitTicket(number: tickets)
        open[ticket] = newest
        return ticket
    }

    /// Its completions are counted, or it has none.
    mutating func end(_ ticket: CommitTicket) {
        guard open.removeValue(forKey: ticket) != nil else { return }
        prune()
    }

    /// All completions of this transaction are counted.
    mutating func counted(_ transaction: Int64) {
        newest = max(newest, transaction)
        listed.insert(transaction)
        prune()
    }

    /// All completions of this process up to this transaction are counted.
    var upTo: Int64 { open.values.min() ?? newest }

    /// Later transactions whose completions are counted too.
    var beyond: [Int64] { listed.sorted() }

    private mutating func prune() {
        while true {
            let upTo = upTo
            listed = listed.filter { $0 > upTo }
            guard listed.count > Self.longestList, let oldest = open.min(by: { $0.value < $1.value }) else { return }
            open[oldest.key] = nil
        }
    }
}
