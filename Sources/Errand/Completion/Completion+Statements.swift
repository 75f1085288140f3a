import Postgres

// MARK: - What is sent
extension Completion {
    /// The statements that write `completions`; what each returns is read by ``CompletionReply``.
    package static func statements(for completions: [Completion]) -> [Statement] {
        var groups: [[Completion]] = []
        for completion in completions {
            // Usually there is one worker id; two only after a result was lost.
            if groups.last?.first?.job.workerID != completion.job.workerID { groups.append([]) }
            groups[groups.count - 1].append(completion)
        }
        return groups.flatMap { group in
            let plain = group.filter(\.isPlainSuccess)
            let others = group.filter { !$0.isPlainSuccess && $0.commit == nil }
            var statements: [Statement] = []
            if !plain.isEmpty { statements.append(finish(plain)) }
            if !others.isEmpty { statements.append(complete(others)) }
            return statements
        }
    }

    /// Whether errand_internal.finish_v1, the shorter path, is enough. The longer one asks the guard.
    private var isPlainSuccess: Bool { outcome == .succeeded && commit == nil && job.options?.guardName == nil }

    private static func finish(_ group: [Completion]) -> Statement {
        Statement(
            "select * from errand_internal.finish_v1($1, $2, $3, $4)",
            [
                group[0].job.workerID, group.map(\.job.id), group.map(\.job.position),
                group.contains { $0.output != nil } ? group.map(\.output) : nil,
            ]
        ).prepared
    }

    private static func complete(_ group: [Completion]) -> Statement {
        Statement(
            "select * from errand_internal.complete_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                group[0].job.workerID, group.map(\.job.id), group.map(\.job.position), group.map(\.outcome.rawValue),
                group.map { $0.error?.storable }, group.map(\.delay?.wholeMilliseconds),
                group.map(\.output), group.map(\.dueAt), group.map(\.circuit),
            ]
        ).prepared
    }

    /// The statement that releases jobs that wait for one of these limits; nil if there are no limits.
    static func release(_ limitKeys: Set<String>) -> Statement? {
        limitKeys.isEmpty ? nil : Statement("select errand_internal.release_v1($1)", [limitKeys.sorted()])
    }

    /// The same for the limits of `completions`.
    package static func release(after completions: [Completion]) -> Statement? {
        release(Set(limitKeys(of: completions)))
    }

    /// The statement that writes the completion in its handler's transaction. It returns `completed`, `locked`,
    /// `revoked` or `unwanted`; with `completed` the number of the transaction, and the id of a failure's error.
    var commitStatement: Statement {
        Statement(
            "select * from errand_internal.commit_v1($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                job.workerID, job.id, job.position, outcome.rawValue, error?.storable,
                delay?.wholeMilliseconds, output, dueAt, circuit,
            ])
    }
}

// MARK: - What comes back
/// The reply to the statements of ``Completion/statements(for:)``.
package struct CompletionReply {
    /// Jobs that this worker no longer owns: cancelled or rescued. Their outcomes were not written.
    package private(set) var refused: Set<Int64> = []
    /// Jobs whose rows another session has locked. Their outcomes are written again later.
    package private(set) var locked: Set<Int64> = []
    /// The transactions that wrote the outcomes of the others.
    private(set) var transactions: Set<Int64> = []
    /// The ids of the errors of failed attempts, by job.
    private(set) var errorIDs: [Int64: String] = [:]

    package init(_ results: some Sequence<Rows>) throws {
        for row in results.lazy.compactMap(\.first) {
            let (refused, locked, transaction, failing, ids) = try row.decode(
                [Int64].self, [Int64].self, Int64.self, [Int64].self, [String].self)
            self.refused.formUnion(refused)
            self.locked.formUnion(locked)
            transactions.insert(transaction)
            errorIDs.merge(zip(failing, ids)) { _, new in new }
        }
    }

    /// A completion that was committed before is neither: the id is that of a later attempt of its job.
    func isLocked(_ completion: Completion) -> Bool {
        completion.commit == nil && locked.contains(completion.job.id)
    }

    func isRefused(_ completion: Completion) -> Bool {
        completion.commit == nil && !completion.wasSent && refused.contains(completion.job.id)
    }
}

extension String {
    /// At most 4,000 characters, without U+0000, which PostgreSQL can't store.
    var storable: String {
        String(prefix(4000)).replacing("\u{0}", with: "\u{FFFD}")
    }
}
