import Testing

@Suite("The random walk's model") struct WalkModelTests {
    private static let enqueue = WalkCause.operation(1, "enqueue")

    /// A job's events, each as a change of the previous one.
    private func faults(
        acknowledged: [Int64: Int64] = [1: 0], settings: [WalkEvent] = [], _ events: [WalkEvent]
    ) -> [String] {
        var model = WalkModel(acknowledged: acknowledged, orderlyQueue: "orderly")
        for event in settings + events { model.apply(event) }
        model.end()
        return model.faults.map(\.text)
    }

    private func row(
        _ at: Int64, _ state: String, by cause: WalkCause = .program, _ action: WalkEvent.Action = .update,
        in relation: WalkEvent.Relation = .job, _ change: (inout WalkEvent) -> Void = { _ in }
    ) -> WalkEvent {
        var event = WalkEvent(
            seq: at, at: at, began: at, xid: at, cause: cause, relation: relation, action: action, id: 7, state: state,
            maxAttempts: 3, queue: "default", content: 1)
        switch state {
        case "available": event.position = 10
        case "running": (event.position, event.worker, event.attempt) = (10, 5, 1)
        case "scheduled", "parked": event.parkedFor = state == "parked" ? "limit:a" : nil
        default: event.attempt = 1
        }
        change(&event)
        return event
    }

    private var enqueued: WalkEvent { row(1, "available", by: Self.enqueue, .insert) }
    private var claimed: WalkEvent { row(2, "running") }

    /// A job that moves to another table in one transaction.
    private func moved(
        _ at: Int64, from old: WalkEvent, to state: String, in relation: WalkEvent.Relation = .history,
        by cause: WalkCause = .program, _ change: (inout WalkEvent) -> Void = { _ in }
    ) -> [WalkEvent] {
        var gone = old
        (gone.at, gone.seq, gone.began, gone.xid, gone.cause, gone.action) = (at, at, at, at, cause, .delete)
        return [gone, row(at, state, by: cause, .insert, in: relation, change)]
    }

    @Test("a job's usual ways break no rule")
    func clean() {
        #expect(faults([enqueued, claimed] + moved(3, from: claimed, to: "succeeded")) == [])
        let retried = row(3, "scheduled") {
            $0.attempt = 1
            $0.runAt = 5
        }
        let again = row(6, "available") { ($0.attempt, $0.position, $0.runAt) = (1, 11, 5) }
        let second = row(7, "running") { ($0.attempt, $0.position, $0.runAt) = (2, 11, 5) }
        #expect(faults([enqueued, claimed, retried, again, second] + moved(8, from: second, to: "succeeded")) == [])
        let cancelled = moved(2, from: enqueued, to: "cancelled", by: .operation(2, "cancel"))
        let back = moved(3, from: cancelled[1], to: "available", in: .job, by: .operation(3, "retry")) {
            $0.position = 12
        }
        #expect(faults([enqueued] + cancelled + back) == [])
    }

    @Test("a job that vanishes, or comes twice, or again by itself, is found")
    func relations() {
        let gone = moved(3, from: claimed, to: "succeeded")
        #expect(faults([enqueued, claimed, gone[0]]) == ["it left job and came nowhere"])
        #expect(faults([enqueued, claimed, gone[1]]).first == "it is in history and was in job too")
        #expect(faults([enqueued] + moved(2, from: enqueued, to: "succeeded")) == ["available became succeeded"])
        let back = moved(4, from: gone[1], to: "available", in: .job) { $0.position = 12 }
        #expect(faults([enqueued, claimed] + gone + back) == ["it came back by itself"])
        #expect(faults([enqueued] + moved(2, from: enqueued, to: "cancelled")) == ["nobody cancelled it"])
        let changed = row(3, "running", by: .operation(2, "enqueue")) { $0.content = 2 }
        #expect(faults([enqueued, claimed, changed]) == ["running became running"])
    }

    @Test(
        "a job that starts before those that it waits for have ended, or is cancelled without their failure, is found")
    func parents() {
        func child(_ event: WalkEvent, _ policy: String = "wait") -> WalkEvent {
            var copy = event
            (copy.id, copy.parents, copy.ifParentFails) = (8, [7], policy)
            (copy.position, copy.parkedFor) = (event.position.map { $0 + 1 }, event.parkedFor.map { _ in "job:7" })
            return copy
        }
        let waiting = row(2, "parked", by: Self.enqueue, .insert)
        let (released, started) = (row(5, "available"), row(6, "running"))
        let parent = [enqueued, row(3, "running")]
        let succeeded = moved(4, from: parent[1], to: "succeeded")
        let failed = moved(4, from: parent[1], to: "failed", in: .failed) { $0.attempt = 3 }
        let rest = [released, started]
        #expect(faults([enqueued, child(waiting), parent[1]] + succeeded + rest.map { child($0) }) == [])
        let early = ["it started before job 7, which it waits for, had ended as it must"]
        #expect(faults([enqueued, child(waiting), parent[1]] + rest.map { child($0) }) == early)
        #expect(faults([enqueued, child(waiting), parent[1]] + failed + rest.map { child($0) }) == early)
        #expect(
            faults([enqueued, child(waiting, "go_on"), parent[1]] + failed + rest.map { child($0, "go_on") }) == [])
        let cancelled = moved(5, from: waiting, to: "cancelled").map { child($0, "cancel") }
        #expect(faults([enqueued, child(waiting, "cancel"), parent[1]] + failed + cancelled) == [])
        #expect(faults([enqueued, child(waiting, "cancel"), parent[1]] + cancelled) == ["nobody cancelled it"])
    }

    @Test("a start too early, too late, too often, unwanted or in a paused queue is found")
    func starts() {
        let early = row(2, "running") { $0.runAt = 3 }
        #expect(faults([enqueued, early]) == ["it started before its time"])
        let late = row(9, "running") { $0.notAfter = 8 }
        #expect(faults([enqueued, late]) == ["it started after its last moment"])
        let fourth = row(2, "running") { $0.attempt = 4 }
        let spent = row(1, "available", by: Self.enqueue, .insert) { $0.attempt = 3 }
        #expect(faults([spent, fourth]) == ["it started more often than it may"])
        let unwanted = [enqueued, claimed].map { event in
            var copy = event
            (copy.isGuarded, copy.content) = (true, 7)
            return copy
        }
        #expect(faults(unwanted) == ["it started though its guard says no"])
        var pause = row(0, "", by: .operation(2, "pause"), .insert, in: .queue)
        pause.most = 0
        #expect(
            faults(acknowledged: [1: 0, 2: 1], settings: [pause], [enqueued, claimed]) == [
                "it started in a paused queue"
            ])
        // The commit of the pause was acknowledged after the claim began.
        #expect(faults(acknowledged: [1: 0, 2: 3], settings: [pause], [enqueued, claimed]) == [])
    }

    @Test("more running jobs than a limit allows are found, and more starts than a rate allows")
    func limits() {
        var limit = row(0, "", by: .operation(2, "set_limit"), .insert, in: .limit)
        (limit.queue, limit.most) = ("a", 1)
        let pair = [enqueued, claimed].map { event in
            var copy = event
            copy.limitKey = "a"
            return copy
        }
        let other = pair.map { event in
            var copy = event
            (copy.id, copy.position, copy.at, copy.began) = (8, 11, event.at + 4, event.began + 4)
            return copy
        }
        let acknowledged: [Int64: Int64] = [1: 0, 2: 0]
        #expect(
            faults(acknowledged: acknowledged, settings: [limit], pair + other) == [
                "2 jobs run under a, which allows 1"
            ])
        #expect(
            faults(
                acknowledged: acknowledged, settings: [limit],
                pair + moved(3, from: pair[1], to: "succeeded") { $0.limitKey = "a" } + other) == [])
        var rate = row(0, "", by: .operation(2, "set_rate"), .insert, in: .rate)
        (rate.most, rate.per) = (1, 5)
        let later = other.map { event in
            var copy = event
            (copy.at, copy.began, copy.limitKey) = (copy.at + 10, copy.began + 10, nil)
            return copy
        }
        var third = later
        for index in third.indices { (third[index].id, third[index].position) = (9, 12) }
        #expect(faults(acknowledged: acknowledged, settings: [rate], later) == [])
        #expect(
            faults(acknowledged: acknowledged, settings: [rate], later + third)
                == ["2 jobs of default started within 5 us, 1 may"])
    }

    @Test("a start beside another job of an order key, behind a failed one or before an earlier one is found")
    func orders() {
        func ordered(_ event: WalkEvent, id: Int64 = 7) -> WalkEvent {
            var copy = event
            (copy.id, copy.orderKey, copy.blocksOrder) = (id, "line", true)
            copy.position = event.position.map { $0 + id }
            return copy
        }
        let (first, second) = (
            ordered(enqueued), ordered(row(2, "available", by: .operation(2, "enqueue"), .insert), id: 8)
        )
        let both = [first, second]
        let early = ordered(row(4, "running"), id: 8)
        let started = ordered(row(3, "running"))
        #expect(faults(both + [early]) == ["it started before job 7 of its order key"])
        // Nobody could know of the first one's commit yet.
        #expect(faults(acknowledged: [1: 3], both + [early]) == [])
        #expect(faults(both + [started, early]) == ["it started beside job 7 of its order key"])
        let failed = moved(3, from: started, to: "failed", in: .failed) { $0.attempt = 3 }.map { ordered($0) }
        #expect(
            faults(both + [started] + failed + [early]) == ["it started though job 7 of its order key has failed"])
        let gone = moved(3, from: started, to: "succeeded").map { ordered($0) }
        #expect(faults(both + [started] + gone + [early]) == [])
    }

    @Test("more starts than a rate of a key allows, a key that is kept, and one that was not free for a time are found")
    func keys() {
        let rated = (0..<2).map { index in
            let id = Int64(7 + index)
            return [enqueued, claimed].map { event in
                var copy = event
                (copy.id, copy.rateKey, copy.at) = (id, "meter/1", event.at + 5 * Int64(index))
                copy.position = id
                return copy
            }
        }
        var model = WalkModel(acknowledged: [:])
        model.meter = WalkMeter(keys: "meter/", span: 5, most: 1)
        rated.joined().forEach { model.apply($0) }
        #expect(model.faults.isEmpty)
        model.meter = WalkMeter(keys: "meter/", span: 6, most: 0)
        model.apply(row(20, "available", by: Self.enqueue, .insert) { ($0.id, $0.rateKey) = (9, "meter/1") })
        model.apply(row(21, "running") { ($0.id, $0.rateKey) = (9, "meter/1") })
        #expect(model.faults.map(\.text) == ["1 jobs of meter/1 started within 6 us, 0 may: 9 0 ms before"])

        let waiting = row(1, "available", by: Self.enqueue, .insert) { ($0.uniqueKey, $0.waitingKey) = ("a", "a") }
        let freed = row(2, "running") { $0.waitingKey = "a" }
        let kept = row(2, "running") { ($0.uniqueKey, $0.waitingKey) = ("a", "a") }
        #expect(faults([waiting, freed] + moved(3, from: freed, to: "succeeded") { $0.uniqueKey = "a" }) == [])
        #expect(faults([waiting, kept]) == ["it has the key that it has only while it waits"])

        let owner = [enqueued, claimed].map { event in
            var copy = event
            copy.uniqueKey = "period 1"
            return copy
        }
        let next = row(4, "available", by: Self.enqueue, .insert) { event in
            (event.id, event.position, event.uniqueKey) = (8, 11, "period 1")
        }
        let succeeded = moved(3, from: owner[1], to: "succeeded") { $0.uniqueKey = "period 1" }
        let cancelled = moved(3, from: owner[0], to: "cancelled", by: .operation(2, "cancel")) {
            $0.uniqueKey = "period 1"
        }
        #expect(faults(owner + succeeded + [next]) == ["job 7 has its key for a longer time"])
        #expect(faults([owner[0]] + cancelled + [next]) == [])
        let running = row(2, "running") { $0.uniqueKey = "a" }
        let first = row(1, "available", by: Self.enqueue, .insert) { $0.uniqueKey = "a" }
        let superseded = moved(3, from: running, to: "cancelled", by: .operation(2, "enqueue_supersede")) {
            $0.uniqueKey = "a"
        }
        #expect(faults([first, running] + superseded) == [])
    }

    @Test("a position that is given twice or kept, an end by another worker, and a start out of order are found")
    func fences() {
        let kept = row(3, "available") { $0.attempt = 1 }
        #expect(faults([enqueued, claimed, kept]) == ["it came back in front of where it was"])
        let stranger = row(3, "scheduled", by: .hand(4, worker: 6)) { $0.attempt = 1 }
        #expect(faults([enqueued, claimed, stranger]) == ["worker 6 ended its attempt"])
        let miscounted = row(3, "scheduled") { $0.attempt = -1 }
        #expect(faults([enqueued, claimed, miscounted]) == ["its attempts were miscounted"])
        func orderly(_ event: WalkEvent, id: Int64, position: Int64) -> WalkEvent {
            var copy = event
            (copy.id, copy.position, copy.queue) = (id, position, "orderly")
            return copy
        }
        let events = [
            orderly(enqueued, id: 7, position: 10), orderly(enqueued, id: 8, position: 11),
            orderly(claimed, id: 8, position: 11),
        ]
        #expect(faults(events).map { $0.hasPrefix("job 8 started before it") } == [true])
        let handedBack = row(3, "available") { ($0.id, $0.position, $0.queue, $0.attempt) = (8, 11, "orderly", 0) }
        let again = row(4, "running") { ($0.id, $0.position, $0.queue, $0.attempt) = (8, 11, "orderly", 1) }
        let late = orderly(enqueued, id: 7, position: 10)
        #expect(faults([events[1], events[2], late, handedBack, again]) == [])
        // The other job's commit was not acknowledged yet.
        #expect(faults(acknowledged: [:], events) == [])
        #expect(
            faults([orderly(enqueued, id: 7, position: 10), orderly(enqueued, id: 8, position: 10)]) == [
                "job 7 had its position"
            ])
    }

    @Test("a scheduled job that is promoted late is found, counted from when its enqueue was acknowledged")
    func late() {
        let scheduled = row(1, "scheduled", by: Self.enqueue, .insert) { $0.runAt = 5 }
        let promoted = row(40_000_000, "available") { ($0.runAt, $0.position) = (5, 11) }
        #expect(faults([scheduled, promoted]) == ["it became available 39 s late"])
        #expect(faults(acknowledged: [1: 12_000_000], [scheduled, promoted]) == [])
    }

    @Test("an operation's result is compared with its effect")
    func results() {
        var model = WalkModel(acknowledged: [:])
        model.apply(enqueued)
        model.checkResult(of: 1, id: 7, before: nil, after: "available", words: "enqueue")
        model.checkResult(of: 2, id: 7, before: nil, after: nil, words: "enqueue")
        #expect(model.faults.isEmpty)
        model.checkResult(of: 1, id: 7, before: nil, after: "scheduled", words: "enqueue")
        model.checkResult(of: 1, id: 7, before: nil, after: nil, words: "enqueue")
        model.checkResult(of: 2, id: 7, before: nil, after: "cancelled", words: "cancel")
        #expect(model.faults.count == 3)
    }

    @Test("a seed draws the same operations again")
    func generator() {
        func operations(_ seed: UInt64) -> [String] {
            var generator = WalkGenerator(seed: seed, session: 1)
            return (0..<200).map { _ in generator.next().results }
        }
        #expect(operations(1) == operations(1))
        #expect(operations(1) != operations(2))
    }
}
