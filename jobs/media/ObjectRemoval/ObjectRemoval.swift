import Errand
import ErrandStorage
import Logging
import Outbound
import Postgres

/// Removes objects of deleted rows from the object store, until the store confirms each.
struct ObjectRemoval: Job {
    static let kind: JobKind = "object_removal"
    static let policy = JobPolicy(
        priority: 1, retry: .exponential(attempts: 5, first: .seconds(2)), circuits: [OutboundCircuit.storage.name])
}

/// Takes due entries of the list in `media.removal`, removes their objects, and deletes the entries, batch by batch.
///
/// After any failure in between the entries stay on the list, and are retried. Removing an object is idempotent.
struct ObjectRemovalHandler: JobHandler {
    let store: any ObjectStore

    /// The output of a run.
    struct Report: Codable, Equatable {
        /// Entries whose objects were removed.
        var removed = 0
        /// Entries that the store refused, and that are retried.
        var refused = 0
    }

    private struct Entry {
        let id: Int64
        /// The number of the attempt, which identifies late confirmations.
        let number: Int
        let key: String
        let isFolder: Bool
    }

    /// Small enough for the minute in which the entries belong to this attempt, even in a bucket that keeps versions,
    /// with two requests per object. A killed worker's batch is repeated.
    static let batchSize = 100

    /// After this the next job does the rest: an attempt that reached its deadline would count as failed.
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
                for folder in entries where folder.isFolder { try await expand(folder, &report, in: context) }
            } catch let error as StorageError {
                let down = try await returnToList(entries, after: error, in: context)
                throw down ?? error
            }
        }
        return try .done(report)
    }

    /// The next batch without the folders that aren't ready yet, and its size with them.
    private func take(in context: JobContext) async throws -> (taken: Int, ready: [Entry]) {
        let rows = try await context.database.query(
            Statement("select id, try, key, is_folder, is_ready from media.removals_v1($1::int4)", [Self.batchSize]))
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
            // Without their keys, because log lines outlive the objects. media.removal_status shows them.
            let faults = Set(refused.map { "\($0.1.fault)" }).sorted().joined(separator: ", ")
            context.logger.warning(
                "the object store has refused to remove objects: they are retried",
                metadata: ["objects": .stringConvertible(refused.count), "faults": "\(faults)"])
            try await refuse(refused.map { ($0, "\($1)") }, isStoreDown: false, in: context)
        }
    }

    /// Adds the keys below the folder to the list. Names that are no keys are removed. When nothing is left, the
    /// folder's entry is deleted.
    private func expand(_ folder: Entry, _ report: inout Report, in context: JobContext) async throws {
        do {
            let keys = try await store.keys(beginning: folder.key, after: nil, atMost: 1000)
            let deleted = keys.isEmpty ? try await store.deleteAll(below: folder.key, atMost: 1000) : 0
            if keys.isEmpty, deleted == 0 {
                report.removed += try await record([folder], in: context)
            } else {
                try await context.database.execute(
                    Statement(
                        "select media.folder_found_v1($1, $2, $3::int4)", [folder.id, keys.map(\.text), deleted]))
            }
        } catch let error as StorageError where error.isPermanent {
            // A folder that can't be emptied blocks no other.
            report.refused += 1
            try await refuse([(folder, "\(error)")], isStoreDown: false, in: context)
        }
    }
}

// MARK: - The list
extension ObjectRemovalHandler {
    /// Returns how many entries are deleted. Entries whose upload may still be running stay.
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

    /// The store has refused a whole request. All jobs that need it wait only if it is unreachable or the wrong store:
    /// a store that only forbids removals blocks no upload.
    ///
    /// - Returns: the error to throw if they wait.
    private func returnToList(
        _ entries: [Entry], after error: StorageError, in context: JobContext
    ) async throws -> Unavailable? {
        let isDown = error.code == .unreachable || error.code == .wrongStore
        try await refuse(entries.map { ($0, "\(error)") }, isStoreDown: isDown, in: context)
        if isDown { return try await OutboundCircuit.storage.parking(error, in: context) }
        if error.fault == .configuration {
            context.logger.error(
                "the object store has to be fixed: nothing is removed", metadata: ["error": "\(error)"])
        }
        return nil
    }
}
