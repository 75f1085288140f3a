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
        circuits: [OutboundCircuit.storage.name], retention: JobRetention(failed: .seconds(10 * 365 * 86_400)))

    /// The id in `media.upload`.
    var upload: UUID
}

/// Puts the bytes that are staged in the database into the store, and compares them with an existing object. The staged
/// bytes are deleted only in the transaction that records the upload.
///
/// The variants of a photo are stored before its result, and recorded with it. A reader who finds it finds them.
///
/// After any failure in between (a lost reply of the store or the database, or a killed worker), the next attempt finds
/// the object and goes on. The key and the bytes are the same each time, and a put never replaces an object unless the
/// app has asked for that.
///
/// An app may replace the bytes of an upload while an attempt stores the ones before. That attempt records nothing,
/// since its revision is an older one, but may be the last to reach the store. So the new bytes are stored at once, and
/// once more when no older attempt can still run.
struct UploadRetryHandler: JobHandler {
    let store: any ObjectStore

    func run(_ job: UploadRetry, in context: JobContext) async throws -> Outcome {
        try await OutboundCircuit.storing(in: context) { try await deliver(job, in: context) }
    }

    private func deliver(_ job: UploadRetry, in context: JobContext) async throws -> Outcome {
        let found = try await context.database.query(
            Statement(
                """
                select key, type, sha256, bytes, revision, is_done, replaces, confirm_in, variants
                from media.upload_to_store_v1($1)
                """, [job.upload]))
        guard
            let (keyText, type, sha256, staged, revision, isDone, replaces, confirmIn, variants) = try found.first?
                .decode(
                    String.self, String.self, String.self, Bytes?.self, Int.self, Bool.self, Bool.self, Double?.self,
                    Int.self)
        else {
            return .cancel(reason: "upload \(job.upload) is gone")
        }
        if isDone { return .done }
        let object = Staged(key: keyText, type: type, sha256: sha256, bytes: staged?.bytes)
        if let reason = object.flaw { return .fail(reason: reason) }
        var keys: [ObjectKey] = []
        if variants > 0 {
            var last = ""
            while let (name, variant) = try await self.variant(of: job, after: last, in: context) {
                if let reason = variant.flaw { return .fail(reason: reason) }
                keys.append(try await put(variant, replaces: false, of: job, in: context))
                last = name
            }
        }
        keys.append(try await put(object, replaces: replaces, of: job, in: context))
        let stored = Stored(
            keys: keys, size: object.bytes?.count ?? 0, revision: revision, confirmIn: confirmIn)
        return try await record(job, stored, in: context)
    }

    /// Returns the variant after the one of that name, and its name; nil after the last. One at a time is in memory.
    private func variant(
        of job: UploadRetry, after name: String, in context: JobContext
    ) async throws -> (String, Staged)? {
        let found = try await context.database.query(
            Statement(
                "select name, key, type, sha256, bytes from media.variant_to_store_v1($1, $2)", [job.upload, name]))
        guard
            let (name, key, type, sha256, bytes) = try found.first?.decode(
                String.self, String.self, String.self, String.self, Bytes?.self)
        else { return nil }
        return (name, Staged(key: key, type: type, sha256: sha256, bytes: bytes?.bytes))
    }

    /// Stores an object without a flaw. Returns its key.
    private func put(
        _ object: Staged, replaces: Bool, of job: UploadRetry, in context: JobContext
    ) async throws -> ObjectKey {
        let key = try ObjectKey(object.key)
        let (bytes, type) = (object.bytes ?? [], ContentType(rawValue: object.type))
        do {
            if replaces {
                try await store.put(bytes, at: key, type: type)
            } else if try await !store.putOnce(bytes, at: key, type: type) {
                context.logger.info("the object already exists", metadata: ["upload": "\(job.upload)"])
            }
        } catch {
            throw error.hiding(object.key)
        }
        return key
    }

    /// An object as the database has it.
    private struct Staged {
        let key: String
        let type: String
        let sha256: String
        let bytes: [UInt8]?

        /// Why it can't be stored; nil if it can.
        var flaw: String? {
            guard let bytes else { return "source_missing: its bytes are gone" }
            guard "\(ContentHash(of: bytes))" == sha256 else {
                return "source_changed: its bytes are not those that were handed over (SHA-256 \(sha256))"
            }
            return nil
        }
    }

    /// What the store has now.
    private struct Stored {
        /// Of the variants, and of the upload at the end.
        let keys: [ObjectKey]
        /// Size of the upload.
        let size: Int
        let revision: Int
        /// The seconds after which it is to be stored once more; nil if once is enough.
        let confirmIn: Double?
    }

    /// What `media.delivered_v1` returns.
    private enum Delivery: String, FunctionReply { case delivered, superseded, unwanted }

    private func record(_ job: UploadRetry, _ stored: Stored, in context: JobContext) async throws -> Outcome {
        try await context.transaction { transaction in
            let reply = try await transaction.query(
                Statement(
                    "select media.delivered_v1($1, $2, $3::int4, $4)",
                    [job.upload, stored.keys.last?.text, stored.revision, stored.confirmIn == nil])
            ).scalar(String.self)
            switch try Delivery(reply, from: "media.delivered_v1") {
            case .delivered:
                if let confirmIn = stored.confirmIn { return .snooze(for: .seconds(confirmIn)) }
                return try .done(["bytes": stored.size])
            case .superseded:
                // The job of the new bytes stores those.
                return .cancel(reason: "upload \(job.upload) got other bytes while it was stored")
            case .unwanted:
                // The upload was deleted while it ran, so the objects have no rows.
                for key in stored.keys {
                    do throws(StorageError) {
                        try await store.delete(key)
                    } catch {
                        // The next attempt would know nothing of it, and a refused delete must stop no upload.
                        try await transaction.execute(
                            Statement("select media.remove_unwanted_v1($1)", [key.text]))
                    }
                }
                return .cancel(reason: "upload \(job.upload) was removed while it was stored")
            }
        }
    }
}
