import Postgres

// MARK: - What is sent
extension Completion {
    /// The statements that write `completions`; what each returns is read by ``CompletionReply``.
    package static func statements(for completions: [Completion]) -> [Statement] {
        var groups: [[Completion]] = []
        for completion in completions {
            // One worker id, but for the moments after a result was lost.
            if groups.last?.first?.job.workerID != completion.job.workerID { groups.append([]) }
            groups[groups.count - 1].append(completion)
        }
        return groups.flatMap { group in
            let plain = group.filter(\.isPlainSuccess)
            let others = group.filter { !$0.isPlainSuccess && $0.commit == nil }
            var statements: [Statement] = []
            if !plain.isEmpty { statements.append(finish(plain)) }
            if !others.isEmpty { statements.append(settle(others)) }
            return statements
        }
    }

    /// Whether errand.finish_v1, the shorter path, will do. A guard is asked by the longer one.
    private var isPlainSuccess: Bool {
        outcome == .succeeded && result.output == nil && commit == nil && job.options?.guardName == nil
    }

    private static func finish(_ group: [Completion]) -> Statement {
        Statement(
            "select * from errand.finish_v1($1, $2, $3)",
            [group[0].job.workerID, group.map(\.job.id), group.map(\.job.position)]
        ).kept
    }

    private static func settle(_ group: [Completion]) -> Statement {
        Statement(
            "select * from errand.complete_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                group[0].job.workerID, group.map(\.job.id), group.map(\.job.position), group.map(\.outcome.rawValue),
                group.map { $0.result.error?.storable }, group.map(\.result.delay?.wholeMilliseconds),
                group.map(\.result.output), group.map(\.result.dueAt), group.map(\.result.dependency),
            ]
        ).kept
    }

    /// The statement that makes jobs available that wait for a slot of one of these limits; nil if there are no limits.
    static func release(_ limitKeys: Set<String>) -> Statement? {
        limitKeys.isEmpty ? nil : Statement("select errand.release_v1($1)", [limitKeys.sorted()])
    }

    /// The same for the limits of `completions`.
    package static func release(after completions: [Completion]) -> Statement? {
        release(Set(limitKeys(of: completions)))
    }

    /// The statement that writes it in its handler's transaction; returns `ended`, `locked`, `lost` or `unwanted`, and
    /// the number of the transaction where it is `ended`.
    var commitStatement: Statement {
        Statement(
            "select * from errand.commit_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                job.workerID, job.id, job.position, outcome.rawValue, result.error?.storable,
                result.delay?.wholeMilliseconds, result.output, result.dueAt, result.dependency,
            ])
    }
}

// MARK: - What comes back
/// What the statements of ``Completion/statements(for:)`` returned.
package struct CompletionReply {
    /// Jobs no longer this worker's: cancelled, or rescued. Their outcome was not written.
    package private(set) var refused: Set<Int64> = []
    /// Jobs whose rows another session has locked: to be written again a moment later.
    package private(set) var locked: Set<Int64> = []
    /// The transactions that wrote the outcomes of the others.
    private(set) var transactions: Set<Int64> = []

    package init(_ results: some Sequence<Rows>) throws {
        for row in results.lazy.compactMap(\.first) {
            let (refused, locked, transaction) = try row.decode([Int64].self, [Int64].self, Int64.self)
            self.refused.formUnion(refused)
            self.locked.formUnion(locked)
            transactions.insert(transaction)
        }
    }
}

extension String {
    /// At most 4,000 characters, without U+0000, which PostgreSQL can't store.
    var storable: String {
        String(prefix(4000)).replacing("\u{0}", with: "\u{FFFD}")
    }
}
