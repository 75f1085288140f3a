import Testing

@testable import Errand

@Suite("Low-water mark") struct LowWaterMarkTests {
    @Test(
        "no job is ever left below the mark, in any order of commits, and if a worker is replaced", arguments: 0..<100
    )
    func isExact(seed: UInt64) {
        let mark = LowWaterMark(stride: seed.isMultiple(of: 2) ? LowWaterMark.stride : 30)
        let result = MarkModel.run(seed: seed, mark: mark, restarts: true)
        #expect(result.broken == 0)
        #expect(result.leftBehind == 0)
    }

    @Test("the model can tell: a mark that jumps to the newest job seen loses jobs")
    func modelFindsNaiveMark() {
        let results = (0..<20).map { MarkModel.run(seed: $0, mark: NaiveMark()) }
        #expect(results.reduce(0) { $0 + $1.broken } > 0)
        #expect(results.reduce(0) { $0 + $1.leftBehind } > 0)
    }

    @Test("the model can tell: a mark that trusts a full batch beyond its last line loses jobs")
    func modelFindsTrustingMark() {
        let results = (0..<20).map { MarkModel.run(seed: $0, mark: TrustingMark()) }
        #expect(results.reduce(0) { $0 + $1.leftBehind } > 0)
    }

    @Test("the model can tell: a mark that trusts the snapshot's xmax loses jobs of the newest transactions")
    func modelFindsSnapshotMark() {
        let results = (0..<20).map { MarkModel.run(seed: $0, mark: SnapshotMark()) }
        #expect(results.reduce(0) { $0 + $1.leftBehind } > 0)
    }

    @Test("the model can tell: looks that take the lines of a writer set aside for read leave jobs behind")
    func modelFindsRashMark() {
        let results = (0..<100).map { MarkModel.run(seed: $0, mark: RashMark()) }
        #expect(results.reduce(0) { $0 + $1.leftBehind } > 0)
    }

    @Test("the model can tell: a job that keeps its position when it moves is left behind")
    func modelFindsKeptPositions() {
        let results = (0..<20).map { MarkModel.run(seed: $0, mark: LowWaterMark(), movesKeepPositions: true) }
        #expect(results.reduce(0) { $0 + $1.broken } > 0)
        #expect(results.reduce(0) { $0 + $1.leftBehind } > 0)
    }

    @Test("the model can tell: with a snapshot from after an empty scan, jobs wait below the mark")
    func modelFindsLateSnapshot() {
        let results = (0..<100).map { MarkModel.run(seed: $0, mark: LowWaterMark(), shown: .fromAfterTheScan) }
        #expect(results.reduce(0) { $0 + $1.broken } > 0)
    }

    @Test("the model can tell: a job that is handed back with its position is hidden where it lies in the line")
    func modelFindsHandedBackInLine() {
        let results = (0..<20).map { MarkModel.run(seed: $0, mark: LowWaterMark(), handBack: .inLine) }
        #expect(results.reduce(0) { $0 + $1.broken } > 0)
    }

    @Test("the model can tell: a claim that concludes something from a position that was handed back loses jobs")
    func modelFindsConclusiveHandBack() {
        let results = (0..<100).map { MarkModel.run(seed: $0, mark: LowWaterMark(), handBack: .conclusive) }
        #expect(results.reduce(0) { $0 + $1.broken } > 0)
    }

    @Test("the model can tell: a scan ahead that is taken to have read to the end loses jobs")
    func modelFindsTrustedScan() {
        let results = (0..<20).map { MarkModel.run(seed: $0, mark: LowWaterMark(), trustsScans: true) }
        #expect(results.reduce(0) { $0 + $1.broken } > 0)
    }

    @Test("a scan ahead moves each mark to where it has read, or before what it has found there")
    func scansAhead() {
        var mark = settled(at: 900)
        mark.found([nil, 11, nil, nil], by: mark.look)
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

    @Test("a look reads a stride at most, and the next one goes on behind it")
    func looksInStrides() {
        var mark = LowWaterMark(stride: 400)
        for _ in 0..<2 { mark.observe(claim(high: 900, xmax: 5), at: .zero) }
        for (after, upTo) in [(0, 400), (400, 800), (800, 900)] as [(Int64, Int64)] {
            #expect(mark.look.after[0] == after && mark.look.upTo[0] == upTo)
            mark.found([nil, nil, nil, nil], by: mark.look)
        }
        #expect(mark.look.isEmpty)
    }

    @Test("who takes in others' marks begins there, and needs no sweep of his own below them")
    func catchesUp() {
        var mark = settled(at: 10)
        mark.observe(claim(high: 20, xmax: 9, running: [7]), at: .milliseconds(1))
        mark.observe(claim(high: 30, xmax: 12, running: [7]), at: .milliseconds(200))
        mark.catchUp(with: [900, 800, 1000, 900])
        #expect(mark.starts == [900, 800, 1000, 900])
        // The writer that was set aside has ended.
        mark.observe(claim(high: 1000, xmax: 12), at: .milliseconds(201))
        #expect(mark.starts == [800, 800, 800, 800])
        mark.catchUp(with: [1, 1, 1, 1])
        #expect(mark.starts == [800, 800, 800, 800])
    }

    @Test("what a look has found is swept, though others' marks are beyond it: they can't see it either")
    func findSurvivesOthers() {
        var mark = settled(at: 10)
        mark.found([nil, 4, nil, nil], by: mark.look)
        mark.catchUp(with: [900, 900, 900, 900])
        #expect(mark.starts == [900, 3, 900, 900])
    }

    @Test("marks of others that were taken in while a claim was under way don't void what it has shown")
    func catchesUpMeanwhile() {
        var mark = settled(at: 10)
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

    @Test("a claim that has not read the line to its end changes nothing")
    func inconclusive() {
        var mark = settled(at: 900)
        mark.found([nil, 11, nil, nil], by: mark.look)
        mark.observe(claim(high: 0, xmax: 5), at: .zero)
        #expect(mark.starts == [900, 10, 900, 900])
    }

    @Test("a sweep that is asked for while a claim is under way is made by the next one")
    func sweepMeanwhile() {
        var mark = settled(at: 900)
        var under = claim(high: 900, xmax: 5)
        under.starts = mark.starts
        mark.found([nil, 11, nil, nil], by: mark.look)
        mark.observe(under, at: .zero)
        #expect(mark.starts == [900, 10, 900, 900])
        under.starts = mark.starts
        mark.observe(under, at: .zero)
        #expect(mark.starts == [900, 900, 900, 900])
    }

    @Test("the mark follows the line while nobody writes for long")
    func follows() {
        var mark = LowWaterMark()
        mark.observe(claim(high: 100, xmax: 11, positions: [40, 100], priority: 2), at: .zero)
        #expect(mark.starts == [0, 0, 0, 0])
        mark.observe(claim(high: 120, xmax: 12), at: .zero)
        #expect(mark.starts == [100, 100, 100, 100])
    }

    @Test("a running writer holds the mark back, until it is set aside; its end brings a sweep")
    func setsAside() {
        var mark = settled(at: 10)
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
        var mark = settled(at: 10)
        mark.observe(claim(high: 11, latest: 8, xmax: 8), at: .zero)
        mark.observe(claim(high: 11, latest: 8, xmax: 8), at: .zero)
        #expect(mark.starts[0] == 10)
        mark.observe(claim(high: 11, latest: 8, xmax: 9), at: .zero)
        #expect(mark.starts[0] == 11)
    }

    @Test("a full batch moves the mark to its last line, and says nothing of the priorities behind")
    func fullBatch() {
        var mark = settled(at: 10)
        mark.observe(claim(high: 900, xmax: 5), at: .zero)
        mark.observe(claim(high: 900, xmax: 5, positions: [13, 17], priority: 2, isFull: true), at: .zero)
        #expect(mark.starts == [900, 17, 10, 10])
    }

    @Test("a sweep goes on behind its last line while batches come back full")
    func sweepGoesOn() {
        var mark = settled(at: 900)
        mark.found([11, nil, nil, nil], by: mark.look)
        mark.observe(claim(high: 900, xmax: 5, positions: [20, 30], priority: 1, isFull: true), at: .zero)
        #expect(mark.starts[0] == 30)
        mark.observe(claim(high: 900, xmax: 5, positions: [40], priority: 1), at: .zero)
        #expect(mark.starts[0] == 900)
    }

    @Test("a line that went back (a restored server) voids the mark")
    func sequenceWentBack() {
        var mark = settled(at: 500)
        mark.observe(claim(high: 90, xmax: 5, positions: [80], priority: 1, isFull: true), at: .zero)
        #expect(mark.starts == [0, 0, 0, 0])
    }

    @Test("a look begins where the last one that found nothing ended, but for the lines of a writer set aside")
    func looks() {
        var mark = settled(at: 10)
        #expect(LowWaterMark().look.isEmpty)
        let first = mark.look
        #expect(!first.isEmpty)
        #expect(first.after == [0, 0, 0, 0] && first.upTo == [10, 10, 10, 10])
        mark.found([nil, 4, nil, nil], by: first)
        #expect(mark.starts == [10, 3, 10, 10])
        #expect(mark.look.after == [10, 0, 10, 10])

        mark.observe(claim(high: 20, xmax: 9, running: [7]), at: .milliseconds(1))
        mark.observe(claim(high: 30, xmax: 9, running: [7]), at: .milliseconds(2))
        mark.observe(claim(high: 30, xmax: 12, running: [7]), at: .milliseconds(200))
        let beside = mark.look
        #expect(beside.upTo == [30, 30, 30, 30])
        mark.found([nil, nil, nil, nil], by: beside)
        #expect(mark.look.after == [10, 10, 10, 10])
        // It has ended before the look's answer is there; its lines may still be below what was looked at.
        mark.observe(claim(high: 30, xmax: 12), at: .milliseconds(201))
        mark.observe(claim(high: 30, xmax: 12), at: .milliseconds(202))
        mark.found([nil, nil, nil, nil], by: beside)
        #expect(mark.look.after == [10, 10, 10, 10])
        mark.found([nil, nil, nil, nil], by: mark.look)
        #expect(mark.look.isEmpty)
    }

    @Test("a worker that begins at stored marks looks no further down than others have looked")
    func looksOn() {
        var old = settled(at: 900)
        old.found([nil, 11, nil, nil], by: old.look)
        var new = LowWaterMark()
        new.catchUp(with: old.stored)
        #expect(new.starts == [900, 10, 900, 900])
        #expect(new.look.after == [900, 0, 900, 900])
        // What is stored is no more than a claim of somebody else: never beyond the marks.
        new.catchUp(with: [900, 10, 900, 900, 999, 999, 999, 999])
        #expect(new.look.after == [900, 10, 900, 900])
    }

    @Test("a look from before a line that went back counts for nothing")
    func voidLook() {
        var mark = settled(at: 500)
        let look = mark.look
        mark.observe(claim(high: 90, xmax: 5), at: .zero)
        mark.found([nil, nil, nil, nil], by: look)
        #expect(mark.look.after == [0, 0, 0, 0])
    }

    private func settled(at high: Int64) -> LowWaterMark {
        var mark = LowWaterMark()
        for _ in 0..<2 { mark.observe(claim(high: high, xmax: 5), at: .zero) }
        return mark
    }

    private func claim(
        high: Int64, latest: UInt64? = nil, xmax: UInt64, running: [UInt64] = [], positions: [Int64] = [],
        priority: Int = 1,
        isFull: Bool = false
    ) -> LowWaterMark.Observation {
        var lanes = [[Int64]](repeating: [], count: 4)
        lanes[priority - 1] = positions
        return .init(
            high: high, latest: latest ?? xmax - 1, xmax: xmax, running: running, positions: lanes, isFull: isFull)
    }
}
