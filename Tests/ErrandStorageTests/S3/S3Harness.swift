import Foundation
import StorageKit
import Testing

@testable import ErrandStorage

/// Runs `body` with a store in a prefix of the server's bucket for this test only.
///
/// - Parameters:
///   - proxy: a proxy between the test and the server.
///   - port: another port by which the server is reached.
///   - options: more of the location's options, such as `&versions=removed`.
///   - identity: which store it has to be.
func withBucket(
    _ server: BucketServer, bucket: String = "photos", through proxy: FaultProxy? = nil, port: Int? = nil,
    options: String = "", secret: String? = nil,
    limits: S3Configuration.Limits = .init(), identity: StoreIdentity? = nil, _ body: (S3Store) async throws -> Void
) async throws {
    let credentials = S3Credentials(accessKey: server.accessKey, secretKey: secret ?? server.secretKey)
    let url = server.url(bucket: bucket, prefix: "t-\(UUID().uuidString)", port: proxy?.port ?? port, options: options)
    guard case .bucket(var configuration) = try StorageLocation(url: url, credentials: credentials) else {
        Issue.record("no bucket")
        return
    }
    configuration.limits = limits
    let store = try S3Store(configuration, identity: identity)
    do {
        try await body(store)
    } catch {
        await store.stop()
        throw error
    }
    await store.stop()
    // The port alone does not keep the proxy alive.
    withExtendedLifetime(proxy) {}
}

/// Runs `body` with the path of a temporary folder.
func withFolder(_ body: (String) async throws -> Void) async throws {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: root) }
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    try await body(root)
}

/// The code of the error that `body` throws.
func code(_ body: () async throws -> Void) async -> StorageError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? StorageError)?.code
    }
}
