import Postgres

/// How an attempt ends, ready to be written: its fence, and what is to become of the job.
struct Settlement: Sendable {
    enum Ending: Sendable {
        case succeeded(output: JSONB?)
        case retried(error: String, after: Duration)
        case snoozed(for: Duration)
        /// Back in line, uncounted: the worker stops.
        case released
        case failed(error: String)
        case cancelled(reason: String)
    }

    let job: ClaimedJob
    var ending: Ending
    /// From start to end, by the worker's clock.
    let took: Duration
}

extension Settlement {
    /// The word that errand.settle_v1 and errand.finished_per_minute have for it.
    var outcome: String {
        switch ending {
        case .succeeded: "succeeded"
        case .retried: "retried"
        case .snoozed: "snoozed"
        case .released: "released"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    /// Whether errand.finish_v1, the shorter path, will do.
    private var isPlainSuccess: Bool {
        if case .succeeded(output: nil) = ending { true } else { false }
    }

    /// The statements that write `settlements`; each answers with an array of the job ids that were refused.
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
            let others = group.filter { !$0.isPlainSuccess }
            var statements: [Statement] = []
            if !plain.isEmpty {
                statements.append(
                    Statement(
                        "select errand.finish_v1($1, $2, $3)", [worker, plain.map(\.job.id), plain.map(\.job.line)]))
            }
            if !others.isEmpty {
                statements.append(
                    Statement(
                        "select errand.settle_v1($1, $2, $3, $4, $5, $6, $7)",
                        [
                            worker, others.map(\.job.id), others.map(\.job.line), others.map(\.outcome),
                            others.map { $0.error?.storable }, others.map(\.pause?.wholeMilliseconds),
                            others.map(\.output),
                        ]))
            }
            return statements
        }
    }

    /// What went wrong, or why it was cancelled.
    var error: String? {
        switch ending {
        case .retried(let error, _), .failed(let error), .cancelled(let error): error
        case .succeeded, .snoozed, .released: nil
        }
    }

    private var pause: Duration? {
        switch ending {
        case .retried(_, let pause), .snoozed(let pause): pause
        case .succeeded, .released, .failed, .cancelled: nil
        }
    }

    private var output: JSONB? {
        if case .succeeded(let output) = ending { output } else { nil }
    }
}

extension String {
    /// At most 4,000 characters, without U+0000, which PostgreSQL can't store.
    fileprivate var storable: String {
        String(prefix(4000)).replacing("\u{0}", with: "\u{FFFD}")
    }
}
