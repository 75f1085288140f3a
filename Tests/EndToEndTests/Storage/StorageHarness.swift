import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Testing

/// A worker of the built program, a prefix of moto's bucket, and a scripted proxy between them.
struct StorageFixture: Sendable {
    let database: Database
    let proxy: FaultProxy
    /// The bucket without the proxy.
    let store: S3Store
    /// The bucket's location through the proxy, for STORAGE_URL.
    let storageURL: String
    private let url: String
    private let settings: [String: String]

    init(
        _ database: Database, _ configuration: PostgresConfiguration,
        _ script: @escaping @Sendable (FaultProxy.Request) -> FaultProxy.Fault = { _ in .none }
    ) async throws {
        let server = try BucketServer.moto()
        let prefix = "t-\(UUID().uuidString)"
        self.database = database
        proxy = try FaultProxy(to: server.port, script)
        let credentials = S3Credentials(accessKey: server.accessKey, secretKey: server.secretKey)
        guard
            case .bucket(let direct) = try StorageLocation(url: server.url(prefix: prefix), credentials: credentials)
        else { preconditionFailure("the URL names a bucket") }
        store = try S3Store(direct)
        storageURL = server.url(prefix: prefix, port: proxy.port)
        url = try TestServer.url(of: configuration)
        settings = Hardness.settings.merging(
            [
                "ERRAND_QUEUES": "uploads=16", "STORAGE_URL": storageURL,
                "STORAGE_ACCESS_KEY": server.accessKey, "STORAGE_SECRET_KEY": server.secretKey,
            ]) { _, new in new }
        // Without the proxy, which counts and disturbs only the workers' requests.
        let past = ["STORAGE_URL": server.url(prefix: prefix)]
        try await Program.initialiseStore(database: url, settings: settings.merging(past) { _, new in new })
    }

    func worker(_ changed: [String: String] = [:]) throws -> Program { try program(["worker"], changed) }

    func program(_ arguments: [String], _ changed: [String: String]) throws -> Program {
        try Program(arguments, database: url, settings: settings.merging(changed) { _, new in new })
    }

    /// Submits objects with different bytes, the oldest first.
    func stage(_ count: Int, after first: Int = 0, size: Int = 20_000) async throws {
        for number in first..<(first + count) {
            try await database.execute(
                Statement("select media.submit_upload($1, $2)", [key(number), Bytes(Self.bytes(number, size))]))
        }
    }

    func key(_ number: Int) -> String { "photos/\(String(1000 + number)).jpg" }

    static func bytes(_ number: Int, _ size: Int = 20_000) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
    }

    /// Requests that put an object.
    var puts: [FaultProxy.Request] { proxy.requests.filter { $0.method == "PUT" } }

    /// Expects that each object is stored once, complete and recorded, and that the bucket has no other object.
    func expectDelivered(_ count: Int, size: Int = 20_000) async throws {
        let keys = try await store.keys(beginning: "", after: nil, atMost: 10_000)
        #expect(keys.map(\.text) == (0..<count).map(key), "one object each, and no orphan")
        for number in 0..<count {
            #expect(try await store.get(ObjectKey(key(number))) == Self.bytes(number, size))
        }
        #expect(try await database.count("from media.upload where delivered_at is not null and bytes is null") == count)
        #expect(try await database.count("from errand.failed") == 0)
    }
}
