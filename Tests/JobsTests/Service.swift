import AppTestKit
import Errand
import ErrandImages
import ErrandPush
import ErrandStorage
import ErrandTestKit
import Foundation
import Logging
import Postgres
import StorageKit

@testable import Jobs

/// A worker with the media jobs, a store and a database of their own, and maintenance.
struct Service: Sendable {
    let database: Database
    let store: any ObjectStore
    /// The store's folder, if the store is one.
    let root: String

    func photograph() throws -> [UInt8] { try Samples.photograph() }

    func submit(_ key: String, _ bytes: [UInt8]) async throws -> UUID {
        try await store.put(bytes, at: ObjectKey(key))
        return try await database.query(Statement("select media.submit($1)", [key])).scalar(UUID.self)
    }

    /// Submits objects. Returns their ids.
    @discardableResult
    func stage(_ keys: [String], _ bytes: [UInt8]) async throws -> [UUID] {
        try await database.query(
            Statement(
                "select array_agg(media.submit_upload(key, $2)) from unnest($1::text[]) as key", [keys, Bytes(bytes)])
        ).scalar([UUID].self)
    }
}

/// Runs `body` beside such a service.
///
/// - Parameters:
///   - executable: a program instead of errand-image.
///   - uploads: whether it takes jobs of the queue `uploads`.
///   - inBucket: whether the store is a bucket on moto; otherwise it is a folder.
///   - proxy: a proxy between the test and moto's bucket.
///   - isMarked: whether the folder must have the marker of the database's store.
func withService(
    images executable: String? = nil, uploads: Bool = true, inBucket: Bool = false,
    through proxy: FaultProxy? = nil, workers: Int = 1, isMarked: Bool = false, _ body: (Service) async throws -> Void
) async throws {
    try await withAppDatabase { database, _ in
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("media-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store: any ObjectStore
        if inBucket || proxy != nil {
            store = try bucket(port: proxy?.port)
        } else {
            let plain = try FolderStore(root: root)
            store = isMarked ? try await marked(plain, at: root, in: database) : plain
        }
        let logger = Logger(label: "test")
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("errand-image").path
        let images = ImageProcessPool(.init(executable: executable ?? program, processes: 1), logger: logger)
        var configuration = WorkerConfiguration()
        configuration.queues = uploads ? ["default": 2, "images": 1, "uploads": 16] : ["default": 2, "images": 1]
        configuration.maintenance = false
        let running = (0..<workers).map { _ in
            Worker(
                database: database, configuration: configuration, logger: logger,
                handlers: AppServices(
                    store: store, images: images, pushes: PushServices(PushLog(logger: logger))
                ).handlers)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in running { group.addTask { try await worker.run() } }
            let keeping = Task { try await Maintenance(database: database, logger: logger).run() }
            let result: Result<Void, any Error>
            do {
                try await body(Service(database: database, store: store, root: root))
                result = .success(())
            } catch {
                result = .failure(error)
            }
            for worker in running { worker.stop(force: true) }
            keeping.cancel()
            try await keeping.value
            try await group.waitForAll()
            try result.get()
        }
        await images.stop()
        await store.stop()
        // The port alone does not keep the proxy alive.
        withExtendedLifetime(proxy) {}
    }
}

/// The folder as the store of this database only.
private func marked(_ plain: FolderStore, at root: String, in database: Database) async throws -> FolderStore {
    let id = UUID()
    _ = try await plain.mark(as: id, replacing: false)
    try await database.execute(Statement("select media.set_store_v1($1)", [id]))
    let identity = StoreIdentity { try await database.query("select media.store_v1()").scalar(UUID?.self) }
    return try FolderStore(root: root, identity: identity)
}

/// A prefix of a server's bucket for this test only.
///
/// - Parameters:
///   - server: nil is moto.
///   - prefix: an existing prefix; nil for a new one.
///   - port: another port for the server, such as a proxy's.
///   - options: more of the location's options, such as `&versions=removed`.
func bucket(
    _ server: BucketServer? = nil, named name: String = "photos", prefix: String? = nil, port: Int? = nil,
    options: String = ""
) throws -> S3Store {
    let server = try server ?? BucketServer.moto()
    let credentials = S3Credentials(accessKey: server.accessKey, secretKey: server.secretKey)
    let url = server.url(bucket: name, prefix: prefix ?? "t-\(UUID().uuidString)", port: port, options: options)
    guard case .bucket(let configuration) = try StorageLocation(url: url, credentials: credentials) else {
        preconditionFailure("the URL names a bucket")
    }
    return try S3Store(configuration)
}

extension Database {
    /// Waits at most 20 s until the condition holds for the photo's row and no job is left.
    func reaches(_ condition: String, of photo: UUID) async throws -> Bool {
        try await becomes(
            """
            exists (select from media.photo_status where id = '\(photo)' and \(condition))
                and not exists (select from errand.job)
            """)
    }

    /// Repeats the query until `condition` holds, at most for `limit`.
    func becomes(_ condition: String, within limit: Duration = .seconds(60)) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < limit {
            if try await query(Statement("select \(condition)")).scalar(Bool.self) { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    func count(_ sql: String) async throws -> Int {
        try await query(Statement("select count(*) \(sql)")).scalar(Int.self)
    }
}
