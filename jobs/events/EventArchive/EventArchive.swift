import Archives
import Errand
import ErrandStorage
import Foundation
import Logging
import Outbound
import Postgres

/// Makes one ZIP file of all photos of an event, in the object store.
struct EventArchive: Job {
    static let kind: JobKind = "event_archive"
    static let policy = JobPolicy(
        queue: "uploads", priority: 3, deadline: .seconds(3600), retry: .exponential(attempts: 5, first: .seconds(5)),
        limit: 4, circuits: [OutboundCircuit.storage.name], memory: 64 << 20)

    /// The id in `events.archive`.
    var archive: UUID
}

/// Reads photo by photo from the store, and writes the archive to the store in parts: at no time it has more than a
/// photo and a part in memory.
///
/// The archive appears with the last request, and only if it is still wanted right before. A new attempt begins anew:
/// it removes the parts that a killed one has left.
struct EventArchiveHandler: JobHandler {
    let store: any ObjectStore

    /// The output of a run: counts without any private data.
    struct Report: Codable, Equatable {
        var photos = 0
        /// Photos whose objects the store did not have.
        var missing = 0
        var bytes = 0
    }

    /// More bytes than any result has: those go through the database.
    private static let photoLimit = 32 << 20

    private struct Photo {
        let key: ObjectKey
        let name: String
        let addedAt: Date
    }

    func run(_ job: EventArchive, in context: JobContext) async throws -> Outcome {
        let (archiveKey, photos) = try await photos(of: job, in: context)
        guard let archiveKey else { return .cancel(reason: "archive \(job.archive) is gone, or made already") }
        return try await OutboundCircuit.storing(in: context) {
            try await make(job, of: photos, at: archiveKey, in: context)
        }
    }

    private func photos(of job: EventArchive, in context: JobContext) async throws -> (ObjectKey?, [Photo]) {
        let rows = try await context.database.query(
            Statement(
                """
                select archive_key, result_key, name, extract(epoch from added_at)::float8
                from events.archive_to_make_v1($1)
                """, [job.archive]))
        var archiveKey: ObjectKey?
        var photos: [Photo] = []
        for (index, row) in rows.enumerated() {
            let (archive, result, name, addedAt) = try row.decode(String.self, String.self, String?.self, Double.self)
            if archiveKey == nil { archiveKey = try ObjectKey(archive) }
            photos.append(
                Photo(
                    key: try ObjectKey(result),
                    name: EntryName(number: index + 1, of: rows.count, person: name, key: result).text,
                    addedAt: Date(timeIntervalSince1970: addedAt)))
        }
        return (archiveKey, photos)
    }

    private func make(
        _ job: EventArchive, of photos: [Photo], at key: ObjectKey, in context: JobContext
    ) async throws -> Outcome {
        let report: Report?
        do {
            report = try await write(job, photos, at: key, in: context)
        } catch let error as StorageError {
            throw error.hiding(key.text)
        }
        guard let report else { return .cancel(reason: "archive \(job.archive) was removed while it was made") }
        return try await context.transaction { transaction in
            let isKnown = try await transaction.query(
                Statement(
                    "select events.archive_made_v1($1, $2::int4, $3::int4, $4)",
                    [job.archive, report.photos, report.missing, report.bytes])
            ).scalar(Bool.self)
            // Its key is listed for removal, and removed once more when this attempt is over.
            guard isKnown else { return .cancel(reason: "archive \(job.archive) was removed while it was made") }
            return try .done(report)
        }
    }

    /// Stores the archive. Returns nil, and stores nothing, if it is not wanted any more.
    private func write(
        _ job: EventArchive, _ photos: [Photo], at key: ObjectKey, in context: JobContext
    ) async throws -> Report? {
        let writer = try await store.writer(of: key, type: ContentType(rawValue: "application/zip"))
        do {
            var report = Report()
            let zip = try ZIPWriter()
            for (index, photo) in photos.enumerated() {
                try Task.checkCancellation()
                if let bytes = try await bytes(of: photo) {
                    report.bytes += try await put(
                        try zip.entry(photo.name, size: bytes.count, modified: photo.addedAt), to: writer)
                    report.bytes += try await put(try zip.content(bytes), to: writer)
                    report.photos += 1
                } else {
                    report.missing += 1
                }
                context.progress(Double(index + 1) / Double(photos.count))
            }
            report.bytes += try await put(try zip.finish(), to: writer)
            if report.missing > 0 {
                context.logger.warning(
                    "photos are missing in the object store: the archive is made without them",
                    metadata: ["photos": .stringConvertible(report.missing)])
            }
            let isWanted = try await context.database.query(
                Statement("select events.archive_is_wanted_v1($1)", [job.archive])
            ).scalar(Bool.self)
            guard isWanted else {
                await writer.abort()
                return nil
            }
            try await writer.commit()
            return report
        } catch {
            await writer.abort()
            throw error
        }
    }

    /// Nil if the store has no such object: it was deleted after it was listed, or is lost.
    private func bytes(of photo: Photo) async throws -> [UInt8]? {
        do {
            return try await store.get(photo.key, atMost: Self.photoLimit)
        } catch {
            if error.code == .notFound { return nil }
            throw error.hiding(photo.key.text)
        }
    }

    private func put(_ bytes: [UInt8], to writer: any ObjectWriter) async throws -> Int {
        try await writer.write(bytes)
        return bytes.count
    }
}
