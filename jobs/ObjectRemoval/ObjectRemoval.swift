import Errand
import ErrandStorage
import Logging
import Outbound
import Postgres

/// Removes objects whose rows were deleted from the object store, until that confirms each.
struct ObjectRemoval: Job {
    static let kind: JobKind = "object_removal"
    static let policy = JobPolicy(
        retry: .exponential(attempts: 5, first: .seconds(2)), dependency: OutboundDependency.storage.name)
}

/// Takes what is due from the list in `media.removal`, removes it, and takes it off the list, portion by portion.
///
/// Whatever is lost in between, the objects stay on the list, and are tried again: to remove one that is gone does no harm.
struct ObjectRemovalHandler: JobHandler {
    let store: any ObjectStore

    /// What a run has done, kept with its job.
    struct Report: Codable, Equatable {
        /// Entries of the list that are off it.
        var removed = 0
        /// Those that the store has refused, and that are tried again.
        var refused = 0
    }

    private struct Entry {
        let id: Int64
        /// Which try it is: says of a late answer that it is late.
        let number: Int
        let key: String
        let isFolder: Bool
    }

    /// As many as a bucket that keeps versions, where each takes two requests, gets done well within the minute for which they
    /// are this attempt's; and no more than a killed worker may have others do again.
    static let portion = 100

    /// After this the rest is left to the next job: an attempt that ends is on record, one that reaches its deadline failed.
    private static let span: Duration = .seconds(120)

    func run(_ job: ObjectRemoval, in context: JobContext) async throws -> Outcome {
        var report = Report()
        let end = ContinuousClock.now + Self.span
        while ContinuousClock.now < end {
            try Task.checkCancellation()
            let (taken, entries) = try await take(in: context)
            if taken == 0 { break }
            do {
                try await remove(entries.filter { !$0.isFolder }, &report, in: context)
                for folder in entries where folder.isFolder { try await look(into: folder, &report, in: context) }
            } catch let error as StorageError {
                let down = try await giveBack(entries, after: error, in: context)
                throw down ?? error
            }
        }
        return try .done(report)
    }

    /// The next portion, without the folders among it that it is too early to look into; and how many it was with them.
    private func take(in context: JobContext) async throws -> (taken: Int, ready: [Entry]) {
        let rows = try await context.database.query(
            Statement("select id, try, key, is_folder, is_ready from media.removals_v1($1::int4)", [Self.portion]))
        var entries: [Entry] = []
        for row in rows {
            let (id, number, key, isFolder, isReady) = try row.decode(
                Int64.self, Int.self, String.self, Bool.self, Bool.self)
            if isReady { entries.append(Entry(id: id, number: number, key: key, isFolder: isFolder)) }
        }
        return (rows.count, entries)
    }

    private func remove(_ entries: [Entry], _ report: inout Report, in context: JobContext) async throws {
        guard !entries.isEmpty else { return }
        let keys = try entries.map { try ObjectKey($0.key) }
        let failures = try await store.delete(keys)
        var confirmed: [Entry] = []
        var refused: [(Entry, StorageError)] = []
        for (entry, key) in zip(entries, keys) {
            if let error = failures[key] { refused.append((entry, error)) } else { confirmed.append(entry) }
        }
        report.removed += try await record(confirmed, in: context)
        if !refused.isEmpty {
            report.refused += refused.count
            // Without their keys: a line of the log stays when all else of them is gone. media.removal_status has them.
            let faults = Set(refused.map { "\($0.1.fault)" }).sorted().joined(separator: ", ")
            context.logger.warning(
                "the object store has refused to remove objects: they are tried again",
                metadata: ["objects": "\(refused.count)", "faults": "\(faults)"])
            try await refuse(refused.map { ($0, "\($1)") }, isStoreDown: false, in: context)
        }
    }

    /// The keys below the folder go on the list themselves; then names that are no keys are removed. When nothing is left,
    /// the folder is off the list.
    private func look(into folder: Entry, _ report: inout Report, in context: JobContext) async throws {
        do {
            let keys = try await store.keys(beginning: folder.key, after: nil, atMost: 1000)
            let swept = keys.isEmpty ? try await store.sweep(below: folder.key, atMost: 1000) : 0
            if keys.isEmpty, swept == 0 {
                report.removed += try await record([folder], in: context)
            } else {
                try await context.database.execute(
                    Statement(
                        "select media.folder_found_v1($1, $2, $3::int4)", [folder.id, keys.map(\.text), swept]))
            }
        } catch let error as StorageError where error.isPermanent {
            // One that can't be emptied holds up no other.
            report.refused += 1
            try await refuse([(folder, "\(error)")], isStoreDown: false, in: context)
        }
    }
}

// MARK: - The list
extension ObjectRemovalHandler {
    /// Answers how many are off the list: what may be on its way yet is not.
    private func record(_ entries: [Entry], in context: JobContext) async throws -> Int {
        guard !entries.isEmpty else { return 0 }
        return try await context.database.query(
            Statement(
                "select media.removed_v1($1, $2::int8[]::int4[])", [entries.map(\.id), entries.map(\.number)])
        ).scalar(Int.self)
    }

    private func refuse(_ entries: [(Entry, String)], isStoreDown: Bool, in context: JobContext) async throws {
        try await context.database.execute(
            Statement(
                "select media.not_removed_v1($1, $2, $3)", [entries.map(\.0.id), entries.map(\.1), isStoreDown]))
    }

    /// The store has refused a request as a whole. Only where nobody can reach it, or it is another one, do all jobs that
    /// need it wait: a store that forbids removing and nothing else holds up no upload.
    ///
    /// - Returns: the error to end the attempt with where they wait.
    private func giveBack(
        _ entries: [Entry], after error: StorageError, in context: JobContext
    ) async throws -> DependencyDown? {
        let isDown = error.code == .unreachable || error.code == .wrongStore
        try await refuse(entries.map { ($0, "\(error)") }, isStoreDown: isDown, in: context)
        if isDown { return try await OutboundDependency.storage.parking(error, in: context) }
        if error.fault == .configuration {
            context.logger.error(
                "the object store has to be mended: nothing is removed", metadata: ["error": "\(error)"])
        }
        return nil
    }
}
