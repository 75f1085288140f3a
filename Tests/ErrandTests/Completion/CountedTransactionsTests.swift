import ErrandTestKit
import Testing

@testable import Errand

@Suite("Counted transactions") struct CountedTransactionsTests {
    @Test("while a transaction is open, those that are surely not it are counted, and the later ones are listed")
    func open() {
        var transactions = CountedTransactions()
        transactions.counted(10)
        let ticket = transactions.begin()
        transactions.counted(12)
        transactions.counted(15)
        #expect(transactions.upTo == 10)
        #expect(transactions.beyond == [12, 15])
        transactions.counted(13)
        transactions.end(ticket)
        #expect(transactions.upTo == 15)
        #expect(transactions.beyond.isEmpty)
    }

    @Test("a transaction that stays open makes the list no longer than 1,000")
    func bound() {
        var transactions = CountedTransactions()
        let ticket = transactions.begin()
        for number in Int64(1)...5000 {
            transactions.counted(number)
            if number % 250 == 1 { #expect(transactions.beyond.count <= CountedTransactions.longestList) }
        }
        transactions.end(ticket)
        #expect(transactions.upTo == 5000)
    }

    @Test(
        "random commits and replies: the counted transactions are exact at each moment",
        arguments: 0..<(Hardness.isFull ? 50 : 5) as Range<UInt64>)
    func walk(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var transactions = CountedTransactions()
        // Of other processes too.
        var next: Int64 = 100
        var begun: [CommitTicket] = []
        var committed: [(ticket: CommitTicket, number: Int64)] = []
        var counted: Set<Int64> = []
        for _ in 0..<400 {
            switch UInt8.random(in: 0..<10, using: &random) {
            case 0..<3:
                begun.append(transactions.begin())
            case 3..<6:
                guard let ticket = begun.randomElement(using: &random) else { continue }
                begun.removeAll { $0 == ticket }
                next += Int64.random(in: 1...3, using: &random)
                committed.append((ticket, next))
            case 6:
                // Rolled back.
                guard let ticket = begun.randomElement(using: &random) else { continue }
                begun.removeAll { $0 == ticket }
                transactions.end(ticket)
            default:
                guard let index = committed.indices.randomElement(using: &random) else { continue }
                let end = committed.remove(at: index)
                transactions.counted(end.number)
                transactions.end(end.ticket)
                counted.insert(end.number)
            }
            let beyond = Set(transactions.beyond)
            #expect(counted.allSatisfy { $0 <= transactions.upTo || beyond.contains($0) })
            #expect(committed.allSatisfy { $0.number > transactions.upTo && !beyond.contains($0.number) })
            #expect(next >= transactions.upTo)
        }
    }
}
