import Postgres

/// How an attempt ends, ready to be written: its fence, and what is to become of the job.
struct Settlement: Sendable {
    enum Ending: Sendable {
        case succeeded(output: JSONB?)
        case retried(error: String, after: Duration)
        case snoozed(for: Duration)
        case snoozedUntil(Timestamp)
        /// Waits for a dependency, uncounted.
        case parked(dependency: String, until: Timestamp?, reason: String)
        /// Back in line, uncounted: the worker stops.
        case released
        case failed(error: String)
        case cancelled(reason: String)
        case obsolete(reason: String)
        /// Written already, in the handler's own transaction.
        case committed(CommittedEnd)
    }

    let job: ClaimedJob
    var ending: Ending
    /// From start to end, by the worker's clock.
    let took: Duration
    /// The type of the error that ended it, for logs: its text may hold what the job was about. Nil where none was thrown.
    var cause: String?
}

extension Settlement.Ending {
    /// What becomes of a job whose handler answered `outcome`.
    init(_ outcome: Outcome, of job: ClaimedJob, _ policy: JobPolicy) {
        self =
            switch outcome {
            case .done(let output): .succeeded(output: output)
            case .snooze(let pause): .snoozed(for: pause)
            case .snoozeUntil(let time): .snoozedUntil(time)
            case .park(let dependency, let until, let reason):
                .parked(dependency: dependency, until: until, reason: reason)
            case .cancel(let reason): .cancelled(reason: reason)
            case .fail(let reason): .failed(error: reason)
            case .retry(let pause, let reason): .failure(reason, of: job, policy, pause: pause)
            }
    }

    /// What becomes of a job whose attempt failed: another one, if there is one left.
    static func failure(
        _ reason: String, of job: ClaimedJob, _ policy: JobPolicy, pause: Duration? = nil
    ) -> Self {
        guard job.attempt < job.maxAttempts else { return .failed(error: reason) }
        var random = SystemRandomNumberGenerator()
        return .retried(error: reason, after: pause ?? policy.retry.pause(afterAttempt: job.attempt, using: &random))
    }
}

extension Settlement {
    /// The word that errand.settle_v2 and errand.finished_per_minute have for it.
    var outcome: String {
        switch ending {
        case .succeeded: "succeeded"
        case .retried: "retried"
        case .snoozed, .snoozedUntil: "snoozed"
        case .parked: "parked"
        case .released: "released"
        case .failed: "failed"
        case .cancelled: "cancelled"
        case .obsolete: "obsolete"
        case .committed(let end): end.outcome
        }
    }

    /// Whether errand.finish_v1, the shorter path, will do. A guard is asked by the longer one.
    private var isPlainSuccess: Bool {
        if case .succeeded(output: nil) = ending { job.options?.guardName == nil } else { false }
    }

    /// Whether a job may become due with it that no wake-up announces: itself, or one that waits for its limit.
    var isFollowed: Bool {
        switch ending {
        case .succeeded, .failed, .cancelled, .obsolete: job.options?.limitKey != nil
        case .retried, .snoozed, .snoozedUntil, .parked, .released, .committed: true
        }
    }

    var isReleased: Bool {
        if case .released = ending { true } else { false }
    }

    /// The end that its handler's own transaction has written; nil where none has.
    var committed: CommittedEnd? {
        if case .committed(let end) = ending { end } else { nil }
    }

    /// The statements that write `settlements`; what each returns is read by ``WriteAnswer``.
    static func statements(for settlements: [Settlement]) -> [Statement] {
        var groups: [[Settlement]] = []
        for settlement in settlements {
            // One worker id, but for the moments after an answer was lost.
            if groups.last?.first?.job.workerID != settlement.job.workerID { groups.append([]) }
            groups[groups.count - 1].append(settlement)
        }
        return groups.flatMap { group in
            let worker = group[0].job.workerID
            let plain = group.filter(\.isPlainSuccess)
            let others = group.filter { !$0.isPlainSuccess && $0.committed == nil }
            var statements: [Statement] = []
            if !plain.isEmpty {
                statements.append(
                    Statement(
                        "select * from errand.finish_v1($1, $2, $3)",
                        [worker, plain.map(\.job.id), plain.map(\.job.line)]
                    ).kept)
            }
            if !others.isEmpty {
                statements.append(
                    Statement(
                        "select * from errand.settle_v2($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                        [
                            worker, others.map(\.job.id), others.map(\.job.line), others.map(\.outcome),
                            others.map { $0.error?.storable }, others.map(\.pause?.wholeMilliseconds),
                            others.map(\.output), others.map(\.due), others.map(\.dependency),
                        ]
                    ).kept)
            }
            return statements
        }
    }

    /// The statement that lets those go that wait for the slots of `settlements` under their limits, and for slots of
    /// `others`; nil where there are none.
    static func release(after settlements: [Settlement], and others: Set<String> = []) -> Statement? {
        let keys = others.union(settlements.compactMap(\.job.options?.limitKey))
        return keys.isEmpty ? nil : Statement("select errand.release_v1($1)", [keys.sorted()])
    }

    /// The statement that writes it in its handler's transaction; returns `ended`, `locked`, `lost` or `unwanted`, and the
    /// number of the transaction where it is `ended`.
    var commitStatement: Statement {
        Statement(
            "select * from errand.commit_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                job.workerID, job.id, job.line, outcome, error?.storable, pause?.wholeMilliseconds, output, due,
                dependency,
            ])
    }
}

/// An end that was committed together with what its handler wrote.
struct CommittedEnd: Sendable {
    let outcome: String
    /// The number of that transaction.
    let transaction: Int64
    /// Holds the place of the transaction until the end is counted.
    let ticket: CountedTransactions.Ticket
}

/// What the statements of ``Settlement/statements(for:)`` returned.
struct WriteAnswer {
    /// Jobs no longer this worker's: cancelled, or rescued. Their outcome was not written.
    var refused: Set<Int64> = []
    /// Jobs whose rows another session has locked: to be written again a moment later.
    var locked: Set<Int64> = []
    /// The transactions that wrote the outcomes of the others.
    var transactions: Set<Int64> = []

    init(_ answers: some Sequence<Rows>) throws {
        for row in answers.lazy.compactMap(\.first) {
            let (refused, locked, transaction) = try row.decode([Int64].self, [Int64].self, Int64.self)
            self.refused.formUnion(refused)
            self.locked.formUnion(locked)
            transactions.insert(transaction)
        }
    }
}

// MARK: - What the statements are handed
extension Settlement {
    /// What went wrong, or why it was cancelled.
    var error: String? {
        switch ending {
        case .retried(let error, _), .failed(let error), .cancelled(let error), .obsolete(let error): error
        case .parked(_, _, let reason): reason
        case .succeeded, .snoozed, .snoozedUntil, .released, .committed: nil
        }
    }

    private var pause: Duration? {
        switch ending {
        case .retried(_, let pause), .snoozed(let pause): pause
        default: nil
        }
    }

    private var due: Timestamp? {
        switch ending {
        case .snoozedUntil(let time): time
        case .parked(_, let until, _): until
        default: nil
        }
    }

    private var dependency: String? {
        if case .parked(let dependency, _, _) = ending { dependency } else { nil }
    }

    /// What the handler answered.
    var output: JSONB? {
        if case .succeeded(let output) = ending { output } else { nil }
    }
}

extension String {
    /// At most 4,000 characters, without U+0000, which PostgreSQL can't store.
    var storable: String {
        String(prefix(4000)).replacing("\u{0}", with: "\u{FFFD}")
    }
}
