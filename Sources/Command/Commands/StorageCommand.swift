import ArgumentParser
import ErrandStorage
import Foundation
import Outbound
import Postgres

struct StorageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storage",
        abstract: "The photo store, a folder or bucket: tie it to the database.",
        discussion: """
            errand storage init

            Jobs that need the store wait until this was done once.
            """,
        subcommands: [InitStorage.self])
}

struct InitStorage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Mark the store of STORAGE_URL as the database's; once, after `errand migrate`.",
        discussion: """
            errand migrate && errand storage init

            Writes an object .errand-store with an id, and records the id in the database. A store without that id counts \
            as down: a disk that isn't mounted, a wrong bucket or prefix. Does nothing where both have the same id. Where \
            they differ it refuses: mount the disk or correct the setting, or, after a move or restore, --adopt.
            """)

    @Flag(help: "Tie this store to the database, whatever both were marked with before.")
    var adopt = false

    func run() async throws {
        let environment = try Environment.load()
        let store = try environment.settings.objectStore()
        do {
            // What the start of a worker refuses is not marked either.
            try await store.check()
            let done = try await environment.withConnection { connection in
                try await connection.transaction { transaction in
                    let known = try await transaction.query("select media.store_v1()").scalar(UUID?.self)
                    let plan = StorePlan(recorded: known, marked: try await store.markedID(), adopts: adopt)
                    try await carryOut(plan, on: store, transaction)
                    return plan
                }
            }
            print(done)
        } catch let error as StorageError {
            await store.stop()
            let code = error.fault == .transient ? Failure.unreachable : Failure.misconfigured
            throw Failure(code: code, "\(error)")
        } catch {
            await store.stop()
            throw error
        }
        await store.stop()
    }

    /// The id is recorded before the marker is written, and committed after. An interruption in between leaves a marker
    /// that the next run refuses and --adopt takes.
    private func carryOut(_ plan: StorePlan, on store: any ObjectStore, _ transaction: Transaction) async throws {
        switch plan {
        case .isDone: return
        case .record(let id): try await record(id, transaction)
        case .mark(let id):
            try await record(id, transaction)
            guard try await store.mark(as: id, replacing: adopt) else {
                throw Failure(
                    code: Failure.failed, "somebody else has just marked this store; run `errand storage init` again")
            }
        case .refuse(let reason): throw Failure(code: Failure.misconfigured, reason)
        }
    }

    private func record(_ id: UUID, _ transaction: Transaction) async throws {
        try await transaction.execute(Statement("select media.set_store_v1($1)", [id]))
    }
}

/// Decides how to tie a store to the database, from the ids of both.
enum StorePlan: Hashable, CustomStringConvertible {
    case isDone(UUID)
    /// The store keeps its marker, and the database records that.
    case record(UUID)
    /// The store gets a marker, and the database records it.
    case mark(UUID)
    case refuse(String)

    init(recorded: UUID?, marked: UUID?, adopts: Bool, new: UUID = UUID()) {
        switch (recorded, marked) {
        case (nil, nil): self = .mark(new)
        case (let recorded?, let marked?) where recorded == marked: self = .isDone(marked)
        case (_, let marked?) where adopts: self = .record(marked)
        case (let recorded?, nil) where adopts: self = .mark(recorded)
        case (let recorded?, nil):
            self = .refuse(
                "the database's store has the id \(recorded.uuidString.lowercased()), and this one has no marker: mount its "
                    + "disk or correct STORAGE_URL; after a move, `errand storage init --adopt` takes this one")
        case (_, let marked?):
            self = .refuse(
                "this store is marked with the id \(marked.uuidString.lowercased()), which is not the database's "
                    + "(\(recorded?.uuidString.lowercased() ?? "it has none")): correct STORAGE_URL or DATABASE_URL; after a "
                    + "restore, `errand storage init --adopt` takes this one")
        }
    }

    var description: String {
        switch self {
        case .isDone(let id): "the store is this database's already: \(id.uuidString.lowercased())"
        case .record(let id), .mark(let id): "the store is this database's now: \(id.uuidString.lowercased())"
        case .refuse(let reason): reason
        }
    }
}
