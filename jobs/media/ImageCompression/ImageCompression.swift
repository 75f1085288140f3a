import Errand
import ErrandImages
import ErrandStorage
import Foundation
import Logging
import Postgres

/// Compresses a submitted photo below the bytes that it may have, 500,000 by default, at the best quality that fits,
/// upright and without metadata.
struct ImageCompression: Job {
    static let kind: JobKind = "image_compression"
    // Longer than the clock of a photo that has timed out five times, behind another one.
    static let policy = JobPolicy(
        queue: "images", deadline: .seconds(900), retry: .exponential(attempts: 4, first: .seconds(2)),
        circuits: [OutboundCircuit.storage.name])

    /// The id in `media.photo`.
    var photo: UUID
}

/// Reads the original from the store, compresses it in a child process, and enqueues the upload of the result.
///
/// The result, the variants, their records, the upload job and the completion of this job commit together. So a photo
/// is compressed once, and its result is kept even if the store fails afterwards. A failed attempt leaves nothing,
/// neither in the database nor in the store.
struct ImageCompressionHandler: JobHandler {
    let store: any ObjectStore
    let images: ImageProcessPool
    /// Bytes that an original may have.
    let limit: Int

    func run(_ job: ImageCompression, in context: JobContext) async throws -> Outcome {
        do {
            return try await compress(job, in: context)
        } catch let error as ImageError where error.code == .timedOut {
            return try await timedOut(job, error, in: context)
        } catch let error as ImageError where error.isPermanent || error.code == .timeLimit && context.attempt > 1 {
            return try await failed(job, "\(error)", cause: error.loggedClass, in: context)
        } catch {
            if let down = try await OutboundCircuit.storage.parking(error, in: context) { throw down }
            if context.attempt >= context.maxAttempts { await recordLast(error, of: job, in: context) }
            throw error
        }
    }

    private func compress(_ job: ImageCompression, in context: JobContext) async throws -> Outcome {
        let found = try await context.database.query(
            Statement(
                """
                select source_key, state, bytes, is_delivered, is_foreign, max_bytes, max_edge, timeouts, format,
                    variants, min_quality, max_quality
                from media.photo_to_compress_v1($1)
                """, [job.photo]))
        guard
            let (
                source, state, waiting, isDelivered, isForeign, maxBytes, maxEdge, timeouts, formatName, wanted,
                minQuality, maxQuality
            ) =
                try found.first?.decode(
                    String.self, String.self, Bytes?.self, Bool.self, Bool.self, Int.self, Int.self, Int.self,
                    String.self, JSONB.self, Int?.self, Int?.self)
        else { return .cancel(reason: "photo \(job.photo) is gone") }
        if state == "compressed" { return .done }
        if isForeign { return try await failed(job, "not_yours: the original is another owner's", in: context) }
        guard var request = ImageRequest(maxBytes: maxBytes, maxEdge: maxEdge, format: formatName) else {
            return try await failed(job, "invalid_request: this worker makes no \(formatName)", in: context)
        }
        if let minQuality, let maxQuality { request.qualities = minQuality...maxQuality }
        var variants: [String: ImageRequest] = [:]
        for variant in try wanted.decode([WantedVariant].self) {
            guard let request = variant.request else {
                return try await failed(job, "invalid_request: this worker makes no \(variant.format)", in: context)
            }
            variants[variant.name] = request
        }
        let original: [UInt8]
        do {
            original = try await self.original(at: source, waiting: waiting?.bytes)
        } catch let error where error.isPermanent {
            return try await failed(
                job, "\(error)", told: "\(error.hiding(source))", cause: error.loggedClass,
                isOriginalMissing: error.code == .notFound && !isDelivered, in: context)
        } catch {
            throw error.hiding(source)
        }
        let made = try await context.withMemory(ImageProcessPool.memory(for: original)) {
            try await images.compress(original, as: request, variants: variants, timeoutFactor: timeouts + 1)
        }
        let report = made.result.report
        let result = try ObjectKey("photos/\(job.photo.uuidString.lowercased()).\(request.format.fileExtension)")
        let records = made.variants.map { MadeVariant(name: $0.key, report: $0.value.report) }
        let files = made.variants.map { Bytes($0.value.bytes) }
        return try await context.transaction { transaction in
            let reply = try await transaction.query(
                Statement(
                    "select media.compressed_v1($1, $2, $3, $4, $5, $6)",
                    [
                        job.photo, result.text, try JSONB(encoding: report), Bytes(made.result.bytes),
                        try JSONB(encoding: records), files,
                    ])
            ).scalar(String.self)
            switch try Recording(reply, from: "media.compressed_v1") {
            case .staged, .compressed: return try .done(report)
            case .gone: return .cancel(reason: "photo \(job.photo) is gone")
            }
        }
    }

    /// What `media.compressed_v1` returns.
    private enum Recording: String, FunctionReply { case staged, compressed, gone }

    /// The original: the staged bytes that wait for the store, or the object in the store.
    private func original(at source: String, waiting: [UInt8]?) async throws(StorageError) -> [UInt8] {
        let key = try ObjectKey(source)
        guard let waiting else { return try await store.get(key, atMost: limit) }
        guard waiting.count <= limit else {
            throw StorageError(.tooLarge, "\(key): expected at most \(limit) bytes, got \(waiting.count)")
        }
        return waiting
    }
}

// MARK: - Failures
extension ImageCompressionHandler {
    private static let record = "select media.not_compressed_v1($1, $2, $3)"

    /// Fails the job and its photo in one commit. The original stays. If the photo has a result or is gone by now, the
    /// job runs again, and no attempt is counted.
    ///
    /// - Parameters:
    ///   - told: the reason on the job's record, which outlives the photo; nil for the same one.
    ///   - isOriginalMissing: the original had not been handed over when the job read it. If it has been by now, the
    ///     job runs again too.
    private func failed(
        _ job: ImageCompression, _ reason: String, told: String? = nil, cause: String? = nil,
        isOriginalMissing: Bool = false, in context: JobContext
    ) async throws -> Outcome {
        try await context.transaction { transaction in
            try await fail(
                job, reason, told: told, cause: cause, isOriginalMissing: isOriginalMissing, in: transaction)
        }
    }

    private func fail(
        _ job: ImageCompression, _ reason: String, told: String? = nil, cause: String? = nil,
        isOriginalMissing: Bool = false, in transaction: Transaction
    ) async throws -> Outcome {
        let hasFailed = try await transaction.query(
            Statement(Self.record, [job.photo, reason, isOriginalMissing])
        ).scalar(Bool.self)
        return hasFailed ? .fail(reason: told ?? reason, cause: cause) : .snooze(for: .milliseconds(100))
    }

    /// The wall clock ran out, as on a busy host. That says nothing of the photo: no attempt is counted, and the next
    /// one has a minute more. After five such timeouts the next one is a failure.
    private func timedOut(
        _ job: ImageCompression, _ error: ImageError, in context: JobContext
    ) async throws -> Outcome {
        try await context.transaction { transaction in
            let timeouts = try await transaction.query(
                Statement("select media.timed_out_v1($1)", [job.photo])
            ).scalar(Int?.self)
            guard let timeouts else {
                return try await fail(job, "\(error)", cause: error.loggedClass, in: transaction)
            }
            context.logger.notice(
                "the photo timed out, and is tried again with more time",
                metadata: ["error": "\(error)", "timeouts": .stringConvertible(timeouts)])
            return .snooze(for: .seconds(10 * timeouts))
        }
    }

    /// Records the error of the last attempt. The job fails with that error, even if this fails.
    private func recordLast(_ error: any Error, of job: ImageCompression, in context: JobContext) async {
        let reason: String
        switch context.interruption {
        case nil: reason = "\(error)"
        case .deadline: reason = "time_limit: not done within \(ImageCompression.policy.deadline)"
        // The job runs elsewhere or again, or was cancelled: no failure of the photo.
        case .cancelled, .leaseLost, .shutdown: return
        }
        // A task of its own, awaited here: at the deadline the current task is cancelled, and its statements too.
        let recording = Task {
            try await context.database.execute(Statement(Self.record, [job.photo, reason, false]))
        }
        do {
            _ = try await recording.value
        } catch {
            context.logger.warning("photo's failure not recorded", metadata: ["error": "\(error)"])
        }
    }
}

// MARK: - Variants
/// An element of `variants` in `media.photo`.
private struct WantedVariant: Decodable {
    let name: String
    let maxBytes: Int
    let maxEdge: Int
    let format: String

    var request: ImageRequest? { ImageRequest(maxBytes: maxBytes, maxEdge: maxEdge, format: format) }

    private enum CodingKeys: String, CodingKey {
        case name, format
        case maxBytes = "max_bytes"
        case maxEdge = "max_edge"
    }
}

/// An element of what `media.compressed_v1` records.
private struct MadeVariant: Encodable {
    let name: String
    let report: ImageReport
}

extension ImageRequest {
    /// Nil for a format that this version doesn't make.
    fileprivate init?(maxBytes: Int, maxEdge: Int, format: String) {
        guard let format = Format(rawValue: format) else { return nil }
        self.init()
        (self.maxBytes, self.maxEdge, self.format) = (maxBytes, maxEdge, format)
    }
}

extension ImageRequest.Format {
    /// How the keys of its results end.
    fileprivate var fileExtension: String { self == .jpeg ? "jpg" : rawValue }
}
