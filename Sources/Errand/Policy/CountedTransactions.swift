/// Of which transactions a process has counted all ends, so that those that it could not count before it was killed are
/// found: later ones.
///
/// PostgreSQL numbers transactions in the order in which they first write. One that begins after an answer of another
/// has come gets a higher number. So while a transaction is open here, whose number is not known yet, all up to the
/// newest that was known when it began are surely not it.
package struct CountedTransactions: Sendable {
    /// One open transaction.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: Int
    }

    /// More would make the worker's row long. What is left out then is the one that is open for longest: should the
    /// process be killed before it counts its end, that stays uncounted.
    static let longestList = 1000

    private var newest: Int64 = 0
    private var tickets = 0
    /// The newest transaction known when each of them began.
    private var open: [Ticket: Int64] = [:]
    private var listed: Set<Int64> = []

    /// Call before a transaction begins.
    mutating func begin() -> Ticket {
        tickets += 1
        let ticket = Ticket(number: tickets)
        open[ticket] = newest
        return ticket
    }

    /// Its ends are counted, or there are none.
    mutating func end(_ ticket: Ticket) {
        guard open.removeValue(forKey: ticket) != nil else { return }
        forget()
    }

    /// All ends of this transaction are counted.
    mutating func counted(_ transaction: Int64) {
        newest = max(newest, transaction)
        listed.insert(transaction)
        forget()
    }

    /// All ends of this process by transactions up to this one are counted.
    var upTo: Int64 { open.values.min() ?? newest }

    /// Later transactions whose ends are counted too.
    var beyond: [Int64] { listed.sorted() }

    private mutating func forget() {
        while true {
            let upTo = upTo
            listed = listed.filter { $0 > upTo }
            guard listed.count > Self.longestList, let oldest = open.min(by: { $0.value < $1.value }) else { return }
            open[oldest.key] = nil
        }
    }
}
