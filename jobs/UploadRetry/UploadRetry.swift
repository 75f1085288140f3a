import Errand
import ErrandStorage
import Foundation
import Logging
import Postgres

/// Uploads staged bytes to the object store. The first upload is the job's first attempt; up to three retries follow
/// automatically.
struct UploadRetry: Job {
    static let kind: JobKind = "upload_retry"
    // Failed jobs are kept for ten years, because each has a user's photo.
    static let policy = JobPolicy(
        queue: "uploads", deadline: .seconds(60), retry: .delays(.seconds(2), .seconds(8), .seconds(30)),
        dependency: OutboundDependency.storage.name, retention: JobRetention(failed: .seconds(10 * 365 * 86_400)))

    /// The id in `media.upload`.
    var upload: UUID
}

/// Puts the bytes that are staged in the database into the store, and compares them with an existing object. The staged
/// bytes are deleted only in the transaction that records the upload.
///
/// After any failure in between (a lost reply of the store or the database, or a killed worker), the next attempt finds
/// the object and goes on. The key and the bytes are the same each time, and a put never replaces an object.
struct UploadRetryHandler: JobHandler {
    let store: any ObjectStore

    func run(_ job: UploadRetry, in context: JobContext) async throws -> Outcome {
        do {
            return try await deliver(job, in: context)
        } catch let error as StorageError where error.isPermanent {
            return .fail(reason: "\(error)")
        } catch let error as StorageError where error.code == .full {
            throw DependencyDown(OutboundDependency.storageSpace.name, reason: "\(error)")
        } catch {
            if let down = try await OutboundDependency.storage.parking(error, in: context) { throw down }
            throw error
        }
    }

    private func deliver(_ job: UploadRetry, in context: JobContext) async throws -> Outcome {
        let found = try await context.database.query(
            Statement("select key, type, sha256, bytes, is_delivered from media.upload_to_store_v1($1)", [job.upload]))
        guard
            let (keyText, type, sha256, staged, isDelivered) = try found.first?.decode(
                String.self, String.self, String.self, Bytes?.self, Bool.self)
        else {
            return .cancel(reason: "upload \(job.upload) is gone")
        }
        if isDelivered { return .done }
        guard let bytes = staged?.bytes else { return .fail(reason: "source_missing: its bytes are gone") }
        guard "\(ContentHash(of: bytes))" == sha256 else {
            return .fail(reason: "source_changed: its bytes are not those that were handed over (SHA-256 \(sha256))")
        }
        let key = try ObjectKey(keyText)
        let isNew: Bool
        do {
            isNew = try await store.putOnce(bytes, at: key, type: ContentType(rawValue: type))
        } catch {
            throw error.hiding(keyText)
        }
        if !isNew { context.logger.info("the object already exists", metadata: ["upload": "\(job.upload)"]) }
        return try await record(job, at: key, size: bytes.count, in: context)
    }

    private func record(
        _ job: UploadRetry, at key: ObjectKey, size: Int, in context: JobContext
    ) async throws -> Outcome {
        try await context.transaction { transaction in
            let reply = try await transaction.query(
                Statement("select media.delivered_v1($1, $2)", [job.upload, key.text])
            ).scalar(String.self)
            guard reply == "kept" else {
                // The upload was deleted while it ran, so the object has no row.
                do throws(StorageError) { try await store.delete(key) } catch { throw error.hiding(key.text) }
                return .cancel(reason: "upload \(job.upload) was removed while it was stored")
            }
            return try .done(["bytes": size])
        }
    }
}
