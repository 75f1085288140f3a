import Errand
import ErrandStorage
import Foundation
import Logging
import Postgres

/// Brings what was handed over into the object store: one attempt, and three more by themselves.
struct UploadRetry: Job {
    static let kind: JobKind = "upload_retry"
    // Failed ones stay on record for ten years: there is a photo of somebody in each.
    static let policy = JobPolicy(
        queue: "uploads", deadline: .seconds(60), retry: .pauses(.seconds(2), .seconds(8), .seconds(30)),
        dependency: OutboundDependency.storage.name, retention: JobRetention(failed: .seconds(10 * 365 * 86_400)))

    /// The id in `media.upload`.
    var upload: UUID
}

/// Puts the bytes that the database keeps into the store, compares where something is there already, and lets them go only
/// in the transaction that records it.
///
/// Whatever is lost in between (the store's answer, the worker, the database's answer), the next attempt finds the object and
/// goes on: the key and the bytes are the same each time, and a put never replaces anything.
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
        let isNew = try await store.putOnce(bytes, at: key, type: ContentType(rawValue: type))
        if !isNew { context.logger.info("the object was there already", metadata: ["key": "\(key)"]) }
        return try await record(job, at: key, size: bytes.count, in: context)
    }

    private func record(
        _ job: UploadRetry, at key: ObjectKey, size: Int, in context: JobContext
    ) async throws -> Outcome {
        try await context.transaction { transaction in
            let answer = try await transaction.query(
                Statement("select media.delivered_v1($1, $2)", [job.upload, key.text])
            ).scalar(String.self)
            guard answer == "kept" else {
                // It was removed while it was stored: nobody would ever find the object.
                try await store.delete(key)
                return .cancel(reason: "upload \(job.upload) was removed while it was stored")
            }
            return try .done(["key": key.text, "bytes": "\(size)"])
        }
    }
}
