import ErrandTestKit
import Testing

@testable import Errand

@Suite("Low-water mark") struct LowWaterMarkTests {
    @Test(
        "no job is ever left below the mark, in any order of commits, and if a worker is replaced",
        arguments: 0..<(Hardness.isFull ? 100 : 8) as Range<UInt64>
    )
    func isExact(seed: UInt64) {
        let mark = LowWaterMark(stride: seed.isMultiple(of: 2) ? LowWaterMark.stride : 30)
        let result = MarkModel.run(seed: seed, mark: mark, restarts: true)
        #expect(result.broken == 0)
        #expect(result.leftBehind == 0)
    }

    @Test("the model can tell: a mark that jumps to the newest seen job loses jobs")
    func modelFindsNaiveMark() {
        let results = (0..<20).lazy.map { MarkModel.run(seed: $0, mark: NaiveMark()) }
        #expect(results.contains { $0.broken > 0 })
        #expect(results.contains { $0.leftBehind > 0 })
    }

    @Test("the model can tell: a mark that trusts a full batch beyond its last position loses jobs")
    func modelFindsTrustingMark() {
        #expect((0..<20).contains { MarkModel.run(seed: $0, mark: TrustingMark()).leftBehind > 0 })
    }

    @Test("the model can tell: a mark that trusts the snapshot's xmax loses jobs of the newest transactions")
    func modelFindsSnapshotMark() {
        #expect((0..<20).contains { MarkModel.run(seed: $0, mark: SnapshotMark()).leftBehind > 0 })
    }

    @Test("the model can tell: scans that count the positions of a writer that is skipped as read leave jobs behind")
    func modelFindsRashMark() {
        #expect((0..<100).contains { MarkModel.run(seed: $0, mark: RashMark()).leftBehind > 0 })
    }

    @Test("the model can tell: a job that keeps its position when it moves is left behind")
    func modelFindsMovedPositions() {
        let results = (0..<20).lazy.map { MarkModel.run(seed: $0, mark: LowWaterMark(), movesKeepPositions: true) }
        #expect(results.contains { $0.broken > 0 })
        #expect(results.contains { $0.leftBehind > 0 })
    }

    @Test("the model can tell: with a snapshot from after an empty scan, jobs wait below the mark")
    func modelFindsLateSnapshot() {
        #expect(
            (0..<100).contains { MarkModel.run(seed: $0, mark: LowWaterMark(), shown: .fromAfterTheScan).broken > 0 })
    }

    @Test("the model can tell: a job that is handed back with its position is hidden at its old position")
    func modelFindsHandedBackInOrder() {
        #expect((0..<20).contains { MarkModel.run(seed: $0, mark: LowWaterMark(), handBack: .inOrder).broken > 0 })
    }

    @Test("the model can tell: a claim that concludes something from a position that was handed back loses jobs")
    func modelFindsConclusiveHandBack() {
        #expect((0..<100).contains { MarkModel.run(seed: $0, mark: LowWaterMark(), handBack: .conclusive).broken > 0 })
    }

    @Test("the model can tell: a scan ahead that is assumed to have read to the end loses jobs")
    func modelFindsAssumedScan() {
        #expect((0..<20).contains { MarkModel.run(seed: $0, mark: LowWaterMark(), trustsScans: true).broken > 0 })
    }

    @Test("a scan ahead moves each mark to the last position read, or before a job that it found")
    func scansAhead() {
        var mark = resolved(at: 900)
        mark.found([nil, 11, nil, nil], by: mark.nextScan)
        var scan = claim(high: 5000, xmax: 6)
        scan.starts = mark.starts
        scan.reached = [1900, 499, 950, 1900]
        mark.observe(scan, at: .zero)
        #expect(mark.starts == [900, 499, 900, 900])
        scan.starts = mark.starts
        scan.reached = [1900, 1499, 950, 1900]
        mark.observe(scan, at: .zero)
        #expect(mark.starts == [1900, 1499, 950, 1900])
    }

    @Test("a scan reads at most a stride, and the next one continues after it")
    func scansInStrides() {
        var mark = LowWaterMark(stride: 400)
        for _ in 0..<2 { mark.observe(claim(high: 900, xmax: 5), at: .zero) }
        for (after, upTo) in [(0, 400), (400, 800), (800, 900)] as [(Int64, Int64)] {
            #expect(mark.nextScan.after[0] == after && mark.nextScan.upTo[0] == upTo)
            mark.found([nil, nil, nil, nil], by: mark.nextScan)
        }
        #expect(mark.nextScan.isEmpty)
    }

    @Test("a worker that adopts other workers' marks begins there, and needs no rescan below them")
    func catchesUp() {
        var mark = resolved(at: 10)
        mark.observe(claim(high: 20, xmax: 9, running: [7]), at: .milliseconds(1))
        mark.observe(claim(high: 30, xmax: 12, running: [7]), at: .milliseconds(200))
        mark.catchUp(with: [900, 800, 1000, 900])
        #expect(mark.starts == [900, 800, 1000, 900])
        // The writer that was skipped has ended.
        mark.observe(claim(high: 1000, xmax: 12), at: .milliseconds(201))
        #expect(mark.starts == [800, 800, 800, 800])
        mark.catchUp(with: [1, 1, 1, 1])
        #expect(mark.starts == [800, 800, 800, 800])
    }

    @Test("a job that a scan has found is scanned again, even if other workers' marks are beyond it")
    func findSurvivesOthers() {
        var mark = resolved(at: 10)
        mark.found([nil, 4, nil, nil], by: mark.nextScan)
        mark.catchUp(with: [900, 900, 900, 900])
        #expect(mark.starts == [900, 3, 900, 900])
    }

    @Test("marks that are adopted during a claim don't void its result")
    func catchesUpMeanwhile() {
        var mark = resolved(at: 10)
        mark.catchUp(with: [900, 900, 900, 900])
        let isKnown = mark.observe(claim(high: 20, xmax: 5), at: .zero)
        #expect(isKnown)
        #expect(mark.starts == [900, 900, 900, 900])
        var behind = claim(high: 800, xmax: 5)
        behind.starts = mark.starts
        let isStillKnown = mark.observe(behind, at: .zero)
        #expect(!isStillKnown)
        #expect(mark.starts == [0, 0, 0, 0])
    }

    @Test("a claim that has not read the position to its end changes nothing")
    func inconclusive() {
        var mark = resolved(at: 900)
        mark.found([nil, 11, nil, nil], by: mark.nextScan)
        mark.observe(claim(high: 0, xmax: 5), at: .zero)
        #expect(mark.starts == [900, 10, 900, 900])
    }

    @Test("a rescan that is requested during a claim is made by the next one")
    func rescanMeanwhile() {
        var mark = resolved(at: 900)
        var under = claim(high: 900, xmax: 5)
        under.starts = mark.starts
        mark.found([nil, 11, nil, nil], by: mark.nextScan)
        mark.observe(under, at: .zero)
        #expect(mark.starts == [900, 10, 900, 900])
        under.starts = mark.starts
        mark.observe(under, at: .zero)
        #expect(mark.starts == [900, 900, 900, 900])
    }

    @Test("the mark follows the newest position while there is no long writer")
    func follows() {
        var mark = LowWaterMark()
        mark.observe(claim(high: 100, xmax: 11, positions: [40, 100], priority: 2), at: .zero)
        #expect(mark.starts == [0, 0, 0, 0])
        mark.observe(claim(high: 120, xmax: 12), at: .zero)
        #expect(mark.starts == [100, 100, 100, 100])
    }

    @Test("a running writer holds the mark back, until it is skipped; its end brings a rescan")
    func skips() {
        var mark = resolved(at: 10)
        mark.observe(claim(high: 20, xmax: 9, running: [7]), at: .milliseconds(1))
        mark.observe(claim(high: 30, xmax: 9, running: [7]), at: .milliseconds(2))
        #expect(mark.starts == [10, 10, 10, 10])
        mark.observe(claim(high: 30, xmax: 12, running: [7]), at: .milliseconds(200))
        #expect(mark.starts == [30, 30, 30, 30])
        #expect(mark.published == [10, 10, 10, 10])
        mark.observe(claim(high: 30, xmax: 12), at: .milliseconds(201))
        #expect(mark.starts == [10, 10, 10, 10])
        mark.observe(claim(high: 30, xmax: 12), at: .milliseconds(202))
        #expect(mark.starts == [30, 30, 30, 30])
    }

    @Test("a transaction newer than all that have ended holds the mark back, though no snapshot lists it")
    func newestTransaction() {
        var mark = resolved(at: 10)
        mark.observe(claim(high: 11, latest: 8, xmax: 8), at: .zero)
        mark.observe(claim(high: 11, latest: 8, xmax: 8), at: .zero)
        #expect(mark.starts[0] == 10)
        mark.observe(claim(high: 11, latest: 8, xmax: 9), at: .zero)
        #expect(mark.starts[0] == 11)
    }

    @Test("a full batch moves the mark to its last position, and no mark of lower priorities")
    func fullBatch() {
        var mark = resolved(at: 10)
        mark.observe(claim(high: 900, xmax: 5), at: .zero)
        mark.observe(claim(high: 900, xmax: 5, positions: [13, 17], priority: 2, isFull: true), at: .zero)
        #expect(mark.starts == [900, 17, 10, 10])
    }

    @Test("a rescan continues after its last position while batches are full")
    func rescanGoesOn() {
        var mark = resolved(at: 900)
        mark.found([11, nil, nil, nil], by: mark.nextScan)
        mark.observe(claim(high: 900, xmax: 5, positions: [20, 30], priority: 1, isFull: true), at: .zero)
        #expect(mark.starts[0] == 30)
        mark.observe(claim(high: 900, xmax: 5, positions: [40], priority: 1), at: .zero)
        #expect(mark.starts[0] == 900)
    }

    @Test("positions that went back (a restored server) void the mark")
    func sequenceWentBack() {
        var mark = resolved(at: 500)
        mark.observe(claim(high: 90, xmax: 5, positions: [80], priority: 1, isFull: true), at: .zero)
        #expect(mark.starts == [0, 0, 0, 0])
    }

    @Test("a scan begins where the last empty one ended, except for the positions of a writer that is skipped")
    func scans() {
        var mark = resolved(at: 10)
        #expect(LowWaterMark().nextScan.isEmpty)
        let first = mark.nextScan
        #expect(!first.isEmpty)
        #expect(first.after == [0, 0, 0, 0] && first.upTo == [10, 10, 10, 10])
        mark.found([nil, 4, nil, nil], by: first)
        #expect(mark.starts == [10, 3, 10, 10])
        #expect(mark.nextScan.after == [10, 0, 10, 10])

        mark.observe(claim(high: 20, xmax: 9, running: [7]), at: .milliseconds(1))
        mark.observe(claim(high: 30, xmax: 9, running: [7]), at: .milliseconds(2))
        mark.observe(claim(high: 30, xmax: 12, running: [7]), at: .milliseconds(200))
        let beside = mark.nextScan
        #expect(beside.upTo == [30, 30, 30, 30])
        mark.found([nil, nil, nil, nil], by: beside)
        #expect(mark.nextScan.after == [10, 10, 10, 10])
        // The writer ended before the scan's reply; its positions may still be below the scanned ones.
        mark.observe(claim(high: 30, xmax: 12), at: .milliseconds(201))
        mark.observe(claim(high: 30, xmax: 12), at: .milliseconds(202))
        mark.found([nil, nil, nil, nil], by: beside)
        #expect(mark.nextScan.after == [10, 10, 10, 10])
        mark.found([nil, nil, nil, nil], by: mark.nextScan)
        #expect(mark.nextScan.isEmpty)
    }

    @Test("a worker that begins at stored marks scans no further down than others have scanned")
    func scansOn() {
        var old = resolved(at: 900)
        old.found([nil, 11, nil, nil], by: old.nextScan)
        var new = LowWaterMark()
        new.catchUp(with: old.stored)
        #expect(new.starts == [900, 10, 900, 900])
        #expect(new.nextScan.after == [900, 0, 900, 900])
        // The stored marks come from another claim and are never beyond these marks.
        new.catchUp(with: [900, 10, 900, 900, 999, 999, 999, 999])
        #expect(new.nextScan.after == [900, 10, 900, 900])
    }

    @Test("a scan from before positions went back has no effect")
    func voidScan() {
        var mark = resolved(at: 500)
        let nextScan = mark.nextScan
        mark.observe(claim(high: 90, xmax: 5), at: .zero)
        mark.found([nil, nil, nil, nil], by: nextScan)
        #expect(mark.nextScan.after == [0, 0, 0, 0])
    }

    private func resolved(at high: Int64) -> LowWaterMark {
        var mark = LowWaterMark()
        for _ in 0..<2 { mark.observe(claim(high: high, xmax: 5), at: .zero) }
        return mark
    }

    private func claim(
        high: Int64, latest: UInt64? = nil, xmax: UInt64, running: [UInt64] = [], positions: [Int64] = [],
        priority: Int = 1,
        isFull: Bool = false
    ) -> LowWaterMark.Observation {
        var priorities = [[Int64]](repeating: [], count: 4)
        priorities[priority - 1] = positions
        return .init(
            high: high, latest: latest ?? xmax - 1, xmax: xmax, running: running, positions: priorities, isFull: isFull)
    }
}
