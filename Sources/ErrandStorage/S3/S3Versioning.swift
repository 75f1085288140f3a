import NIOHTTP1
import Outbound
import Synchronization

/// How objects are deleted in this bucket, determined once before the first delete: if the bucket keeps versions, a
/// plain delete would only hide an object.
final class S3Versioning: Sendable {
    private let policy: S3Configuration.Versions
    private let isKept = Mutex<Bool?>(nil)

    init(_ policy: S3Configuration.Versions) { self.policy = policy }

    /// Whether every version has to be removed by its id.
    ///
    /// - Throws: ``StorageError`` with code `keepsVersions` for a bucket that keeps versions against its configuration;
    ///   `misconfigured` if that can't be determined.
    func areRemoved(by client: S3Client) async throws(StorageError) -> Bool {
        if policy == .unchecked { return false }
        let isKept: Bool
        if let known = self.isKept.withLock({ $0 }) {
            isKept = known
        } else {
            isKept = try await ask(client)
            self.isKept.withLock { $0 = isKept }
        }
        guard isKept, policy == .refused else { return isKept }
        throw StorageError(
            .keepsVersions,
            "bucket \(client.configuration.bucket) keeps versions, so that nothing would ever be deleted: take a bucket "
                + "without, or let every version be removed (versions=removed)")
    }

    private func ask(_ client: S3Client) async throws(StorageError) -> Bool {
        let bucket = client.configuration.bucket
        do throws(StorageError) {
            let response = try await client.ask(
                .init(method: .GET, query: [("versioning", "")], what: "versioning of bucket \(bucket)"))
            // A bucket with suspended versioning keeps its old versions.
            return ["Enabled", "Suspended"].contains(response["Status"]?.text ?? "")
        } catch  where error.fault != .transient {
            throw StorageError(
                .misconfigured,
                "whether the bucket keeps versions is unknown (\(error.detail)): allow s3:GetBucketVersioning, or accept old "
                    + "versions with versions=unchecked")
        }
    }
}
