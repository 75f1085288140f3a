/// A rule that was broken.
struct WalkFault: Sendable, CustomStringConvertible {
    /// The job; 0 if the rule is not about a job.
    var id: Int64
    var text: String
    /// The job's history.
    var history: [WalkEvent] = []

    var description: String {
        (["job \(id): \(text)"] + history.map { "    \($0)" }).joined(separator: "\n")
    }
}

/// What a queue may do with its jobs, in memory: takes the committed changes one by one, and collects the rules that
/// they break.
///
/// A job is in one relation at a time. It is claimed only while it is available, due and not too late, its queue runs,
/// its limit and its queue's rate have room and attempts are left, and it starts a run that only its own end, or the
/// loss of its worker, is the end of.
struct WalkModel {
    /// When the commit of an operation was acknowledged, by its number.
    var acknowledged: [Int64: Int64]
    /// What unique keys begin with that outlive their jobs.
    static let periodKeys = "period "

    /// Where one worker alone claims, one claim after the other: jobs start there in the order of priorities and
    /// positions.
    var orderlyQueue = ""

    private(set) var faults: [WalkFault] = []
    /// The relation of each job, and its row.
    private(set) var jobs: [Int64: WalkEvent] = [:]
    private(set) var histories: [Int64: [WalkEvent]] = [:]
    private(set) var settings = WalkSettings()
    private var order = WalkOrder()
    /// The keys whose rate stays as it is.
    var meter: WalkMeter?
    /// The jobs that have keys which outlive them.
    private var ownerOfPeriod: [String: Int64] = [:]
    /// Removed from their relations by a transaction that has not put them elsewhere yet.
    private var moving: [Int64: WalkEvent] = [:]
    private var ownerOfKey: [String: Int64] = [:]
    private var ownerOfPosition: [Int64: Int64] = [:]
    private var running: [String: Int] = [:]
    /// What has ended, whatever became of it later, and of that what has not succeeded.
    private var ended: Set<Int64> = []
    private var unsuccessful: Set<Int64> = []
    private var orderly: [Int64: WalkEvent] = [:]
    /// Left in the queue by the claim of a job that is behind it.
    private var overtaken: [Int64: WalkEvent] = [:]

    init(acknowledged: [Int64: Int64], orderlyQueue: String = "") {
        self.acknowledged = acknowledged
        self.orderlyQueue = orderlyQueue
    }

    /// Takes the next change.
    mutating func apply(_ event: WalkEvent) {
        switch event.relation {
        case .limit, .rate, .queue:
            settings.apply(event, acknowledgedAt: event.cause.number.flatMap { acknowledged[$0] })
            return
        default: histories[event.id, default: []].append(event)
        }
        switch event.action {
        case .insert: enter(event)
        case .update: change(event)
        case .delete: leave(event)
        }
    }

    /// No change follows: what was on its way is lost.
    mutating func end() {
        for (id, row) in moving { report(id, "it left \(row.relation) and came nowhere") }
        for (id, other) in overtaken { reportOvertaken(id, other) }
        (moving, overtaken) = ([:], [:])
    }

    /// Records what another process reported about a job.
    mutating func report(_ id: Int64, _ text: String) {
        faults.append(WalkFault(id: id, text: text, history: histories[id] ?? []))
    }

    private mutating func expect(_ isTrue: Bool, _ event: WalkEvent, _ text: String) {
        if !isTrue { report(event.id, text) }
    }
}

// MARK: - Places
extension WalkModel {
    private mutating func enter(_ new: WalkEvent) {
        expect(
            jobs[new.id] == nil, new, "it is in \(new.relation) and was in \(jobs[new.id]?.relation.rawValue ?? "") too"
        )
        let old = moving.removeValue(forKey: new.id)
        expect(old?.xid ?? new.xid == new.xid, new, "it left \(old?.relation.rawValue ?? "") in another transaction")
        if new.relation == .job {
            if let old {
                let isBroughtBack = old.relation == .failed || old.state == "cancelled"
                expect(isBroughtBack && new.cause.operation?.hasPrefix("retry") == true, new, "it came back by itself")
                expect(new.attempt == 0 && new.crashes == 0, new, "it came back with attempts spent")
            } else {
                expect(histories[new.id]?.count == 1, new, "its id was given to a second job")
            }
            checkRow(new)
            take(new)
        } else if let old {
            checkEnd(from: old, to: new)
        } else {
            report(new.id, "it came into \(new.relation) from nowhere")
        }
        order.enter(new, acknowledgedAt: new.cause.number.flatMap { acknowledged[$0] })
        checkPeriod(new, isNew: old == nil)
        jobs[new.id] = new
        if new.relation != .job {
            ended.insert(new.id)
            if new.state != "succeeded" { unsuccessful.insert(new.id) }
        }
    }

    private mutating func leave(_ row: WalkEvent) {
        let old = jobs.removeValue(forKey: row.id)
        expect(old?.relation == row.relation, row, "it left \(row.relation), where it was not")
        if let old, row.relation == .job { release(old) }
        order.leave(row)
        moving[row.id] = row
    }

    private mutating func change(_ new: WalkEvent) {
        guard let old = jobs[new.id], old.relation == .job, new.relation == .job else {
            return report(new.id, "it was changed in \(new.relation), where it was not")
        }
        checkRow(new)
        order.leave(old)
        checkStep(from: old, to: new)
        order.enter(new, acknowledgedAt: new.cause.number.flatMap { acknowledged[$0] })
        release(old)
        take(new)
        jobs[new.id] = new
    }

    private mutating func take(_ row: WalkEvent) {
        if let key = row.uniqueKey {
            expect(ownerOfKey[key] == nil, row, "job \(ownerOfKey[key] ?? 0) has its key, and has not ended")
            ownerOfKey[key] = row.id
        }
        if row.state == "running", let key = row.limitKey { running[key, default: 0] += 1 }
        if row.queue == orderlyQueue {
            let isPlain = row.state == "available" && row.limitKey == nil && row.notAfter == nil && row.crashes == 0
            orderly[row.id] = isPlain ? row : nil
        }
    }

    private mutating func release(_ row: WalkEvent) {
        if let key = row.uniqueKey { ownerOfKey[key] = nil }
        if row.state == "running", let key = row.limitKey { running[key, default: 1] -= 1 }
        orderly[row.id] = nil
    }
}

// MARK: - Rules
extension WalkModel {
    private mutating func checkRow(_ row: WalkEvent) {
        switch row.state {
        case "available":
            expect(row.runAt <= row.at, row, "it is available before its time")
            fallthrough
        case "running": expect(row.position != nil && row.parkedFor == nil, row, "\(row.state) without a position")
        case "scheduled":
            expect(row.position == nil && row.parkedFor == nil, row, "scheduled with a position or parked")
        case "parked":
            expect(row.position == nil && row.parkedFor != nil, row, "parked for nothing, or with a position")
        default: report(row.id, "no such state: \(row.state)")
        }
        if let position = row.position {
            expect(
                ownerOfPosition[position] ?? row.id == row.id, row,
                "job \(ownerOfPosition[position] ?? 0) had its position")
            ownerOfPosition[position] = row.id
        }
    }

    private mutating func checkStep(from old: WalkEvent, to new: WalkEvent) {
        let operation = new.cause.operation
        let stays = old.state == "available" && (old.queue, old.priority) == (new.queue, new.priority)
        if new.state == "available", !stays {
            let last = histories[new.id]?.dropLast().compactMap(\.position).max() ?? 0
            // One that its worker hands back, uncounted, keeps its position.
            let isHandedBack = old.state == "running" && new.attempt == old.attempt - 1 && new.position == old.position
            expect(isHandedBack || new.position ?? 0 > last, new, "it came back in front of where it was")
        }
        if (old.content, old.maxAttempts, old.key) != (new.content, new.maxAttempts, new.key) {
            expect(operation?.hasPrefix("enqueue") == true, new, "what was enqueued has changed")
        }
        switch (old.state, new.state) {
        case ("available", "running"): checkClaim(from: old, to: new)
        case ("running", "available"), ("running", "scheduled"), ("running", "parked"):
            expect(operation == nil || operation == "release_worker", new, "a running job was changed")
            checkHolder(of: old, by: new)
            expect([old.attempt, old.attempt - 1].contains(new.attempt), new, "its attempts were miscounted")
        case ("running", "running")
        where old.uniqueKey != nil && new.uniqueKey == nil && new.waitingKey == old.uniqueKey:
            expect(operation?.hasPrefix("enqueue") == true, new, "its key was taken from it")
        case ("running", _), (_, "running"): report(new.id, "\(old.state) became \(new.state)")
        // It has its key again.
        case _ where old.state == new.state && old.uniqueKey == nil && new.uniqueKey != nil: break
        // A batch's callback, within its enqueue.
        case ("available", "available") where old.xid == new.xid: break
        case ("available", "available"):
            expect(operation != nil, new, "a waiting job was changed")
        case ("scheduled", "available") where operation == nil:
            let visible = old.cause.number.flatMap { acknowledged[$0] } ?? old.at
            let late = (new.at - max(old.runAt, visible)) / 1_000_000
            expect(late < 30, new, "it became available \(late) s late")
        case ("parked", "scheduled") where old.waitsForJobs: break
        // Its rate has a time for it, or another one.
        case (_, "scheduled") where new.rateKey != nil: break
        case (_, "scheduled"): expect(operation != nil, new, "a waiting job was put off")
        default: break
        }
    }

    private mutating func checkClaim(from old: WalkEvent, to new: WalkEvent) {
        expect(new.cause.operation == nil, new, "an operation claimed it")
        expect(new.position == old.position && new.worker != nil, new, "its claim moved it")
        expect(new.attempt == old.attempt + 1, new, "its claim was miscounted")
        expect(new.attempt <= new.maxAttempts, new, "it started more often than it may")
        expect(new.runAt <= new.at, new, "it started before its time")
        expect(new.notAfter ?? .max >= new.began, new, "it started after its last moment")
        expect(new.isWanted, new, "it started though its guard says no")
        expect(!settings.isPaused(new.queue, from: new.began, to: new.at), new, "it started in a paused queue")
        if let key = new.limitKey {
            let (most, now) = (settings.limit(key, from: new.began, to: new.at), (running[key] ?? 0) + 1)
            expect(now <= most, new, "\(now) jobs run under \(key), which allows \(most)")
        }
        for parent in new.parents where histories[parent] != nil {
            let isOver = new.ifParentFails == "go_on" ? ended.contains(parent) : jobs[parent]?.state == "succeeded"
            expect(isOver, new, "it started before job \(parent), which it waits for, had ended as it must")
        }
        expect(new.waitingKey == nil || new.uniqueKey == nil, new, "it has the key that it has only while it waits")
        let excess = settings.start(in: new.queue, began: new.began, at: new.at)
        for fault in [excess, meter?.start(new), order.fault(ofStart: new)] {
            if let fault { report(new.id, fault) }
        }
        // One that was running in a crash, or was handed back, comes before the others.
        if new.queue == orderlyQueue, new.crashes == 0, old.action == .insert {
            for (id, left) in orderly where (left.priority, left.position ?? 0) < (new.priority, new.position ?? 0) {
                // Its enqueue, and nothing since.
                guard left.action == .insert, let number = left.cause.number,
                    let seen = acknowledged[number], seen < new.began
                else { continue }
                // A claim writes its jobs in any order.
                overtaken[id] = overtaken[id] ?? new
            }
            if let other = overtaken.removeValue(forKey: new.id), other.xid != new.xid {
                reportOvertaken(new.id, other)
            }
        }
    }

    /// A key with `unique_for` is free again only if its job is cancelled. The walk is shorter than that time.
    private mutating func checkPeriod(_ row: WalkEvent, isNew: Bool) {
        guard let key = row.key, key.hasPrefix(Self.periodKeys) else { return }
        if row.state == "cancelled" {
            if ownerOfPeriod[key] == row.id { ownerOfPeriod[key] = nil }
        } else if isNew {
            expect(ownerOfPeriod[key] == nil, row, "job \(ownerOfPeriod[key] ?? 0) has its key for a longer time")
            ownerOfPeriod[key] = row.id
        }
    }

    private mutating func reportOvertaken(_ id: Int64, _ other: WalkEvent) {
        let enqueue = histories[id]?.first?.cause.number.flatMap { acknowledged[$0] } ?? 0
        let age = (other.began - enqueue) / 1000
        faults.append(
            WalkFault(
                id: id, text: "job \(other.id) started before it, which was acknowledged \(age) ms before that",
                history: ((histories[id] ?? []) + (histories[other.id] ?? [])).sorted { $0.seq < $1.seq }))
    }

    private mutating func checkHolder(of old: WalkEvent, by new: WalkEvent) {
        if case .hand(_, let worker) = new.cause {
            expect(old.worker == worker, new, "worker \(worker) ended its attempt")
        }
    }

    private mutating func checkEnd(from old: WalkEvent, to new: WalkEvent) {
        let operation = new.cause.operation
        let wasRunning = old.state == "running"
        expect(old.relation == .job || operation == "discard", new, "it ended a second time")
        if wasRunning { checkHolder(of: old, by: new) }
        expect(old.content == new.content && old.key == new.key, new, "it ended as another job")
        switch new.state {
        case "succeeded":
            expect(wasRunning && operation == nil, new, "\(old.state) became succeeded")
        case "cancelled":
            let isOfParent =
                old.waitsForJobs && old.ifParentFails == "cancel" && old.parents.contains(where: unsuccessful.contains)
            let isSuperseded = wasRunning && old.key != nil && operation == "enqueue_supersede"
            expect(
                isOfParent || isSuperseded || operation?.hasPrefix("cancel") == true || operation == "discard", new,
                "nobody cancelled it")
        case "obsolete":
            let isLate = old.notAfter ?? .max < new.began
            // An enqueue or a retry frees the key of a late job.
            let isFreed = operation != nil && old.uniqueKey != nil && !wasRunning && old.notAfter ?? .max < new.at
            let isUnwanted = old.state == "available" && (isLate || !old.isWanted)
            expect(isFreed || isUnwanted, new, "it was neither late nor unwanted")
        case "failed":
            let isLast = new.attempt >= new.maxAttempts || new.crashes >= 3
            expect(wasRunning && operation == nil, new, "\(old.state) became failed")
            expect(isLast || new.cause != .program, new, "it failed with attempts left")
        default: report(new.id, "no such end: \(new.state)")
        }
    }
}

// MARK: - Operations
extension WalkModel {
    /// Whether what an operation returned is what it has done.
    ///
    /// - Parameters:
    ///   - before: of those that were there or are there now, the state before; nil if it isn't said.
    ///   - after: the state that it has said; nil if it has said that nothing was changed.
    mutating func checkResult(of number: Int64, id: Int64, before: String?, after: String?, words: String) {
        let own = (histories[id] ?? []).filter { $0.cause.number == number }
        if let after, after != before {
            let last = own.last { $0.action != .delete }
            if last?.state != after {
                report(id, "\(words) returned \(after), and made it \(last?.state ?? "nothing")")
            }
        } else if after == nil, !own.isEmpty {
            report(id, "\(words) returned that it has changed nothing, and did")
        }
    }
}
