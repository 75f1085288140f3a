import NIOHTTP1
import Outbound
import Synchronization

/// What a delete has to do in this bucket, found out once, before the first one: where versions are kept, a plain delete
/// would only hide an object.
final class S3Versioning: Sendable {
    private let policy: S3Configuration.Versions
    private let isKept = Mutex<Bool?>(nil)

    init(_ policy: S3Configuration.Versions) { self.policy = policy }

    /// Whether every version has to be removed by its id.
    ///
    /// - Throws: ``StorageError`` with code `keepsVersions` for a bucket that keeps them though none may be kept;
    ///   `misconfigured` where that can't be told.
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
            let answer = try await client.ask(
                .init(method: .GET, query: [("versioning", "")], what: "versioning of bucket \(bucket)"))
            // A bucket that was told to keep no more keeps those that it has.
            return ["Enabled", "Suspended"].contains(answer["Status"]?.text ?? "")
        } catch  where error.fault != .transient {
            throw StorageError(
                .misconfigured,
                "whether the bucket keeps versions can't be told (\(error.detail)): allow s3:GetBucketVersioning, or answer "
                    + "for it with versions=unchecked")
        }
    }
}
