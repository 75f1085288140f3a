import Errand
import ErrandImages
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

/// What the job `event_purge` returns.
struct PurgeReport: Decodable, Equatable {
    var events: Int
    var photos: Int
    var are_objects_due: Bool
}

extension Database {
    /// Calls the handler of `event_purge`, as a worker does, until nothing is due. Returns its output.
    @discardableResult
    func purgeEvents() async throws -> PurgeReport {
        var state: JSONB?
        while true {
            let (next, output) = try await query(
                Statement("select state, output from events.handle_purge('{}', $1)", [state])
            ).row(of: "events.handle_purge").decode(JSONB?.self, JSONB?.self)
            if let output { return try output.decode(PurgeReport.self) }
            state = next
        }
    }

    /// An event that has begun, with its host anna and these participants.
    ///
    /// - Parameter reveal: the seconds until its photos are revealed; nil for one without a reveal.
    @discardableResult
    func makeEvent(
        each: Int = 24, inAll: Int = 5_000, reveal: Int? = nil, guests: [String] = []
    ) async throws -> UUID {
        let event = try await query(
            Statement(
                """
                select events.create(
                    'anna', 'Summer party', photos_each => $1::int4, photos_in_all => $2::int4,
                    reveal_at => now() + $3 * interval '1 second')
                """, [each, inAll, reveal])
        ).scalar(UUID.self)
        for guest in guests { try await execute(Statement("select events.join($1, $2)", [event, guest])) }
        return event
    }

    /// Adds a photo under the key; returns its status and id.
    @discardableResult
    func add(_ name: String, to event: UUID, by user: String = "anna") async throws -> (status: String, photo: UUID?) {
        try await query(
            Statement(
                "select status, photo from events.add_photo($1, $2, $3)",
                [event, user, Database.key(name, in: event)])
        )[0].decode(String.self, UUID?.self)
    }

    static func key(_ name: String, in event: UUID) -> String { "events/\(event.uuidString.lowercased())/\(name)" }

    /// Moves an event into the past by so many seconds.
    func age(_ event: UUID, by seconds: Int) async throws {
        try await execute(
            Statement(
                """
                update events.event
                set starts_at = starts_at - $2 * interval '1 second', ends_at = ends_at - $2 * interval '1 second',
                    reveal_at = reveal_at - $2 * interval '1 second'
                where id = $1
                """, [event, seconds]))
    }

    /// Moves an event of 8 days so that it ended 8 days ago.
    func letEnd(_ event: UUID) async throws { try await age(event, by: 16 * 86_400) }

    /// The number of rows about events, without receipts and the rule.
    var eventRows: Int {
        get async throws {
            try await number(
                """
                select (select count(*) from events.event) + (select count(*) from events.participant)
                    + (select count(*) from events.photo) + (select count(*) from media.photo)
                    + (select count(*) from media.upload) + (select count(*) from media.removal)
                """)
        }
    }
}

/// A photo of an event with its jobs complete: two objects in the store, two rows.
///
/// - Parameter keepsOriginal: otherwise the original is listed for removal, as that of each photo in an event.
func addDelivered(
    _ name: String, to event: UUID, by user: String = "anna", _ database: Database, _ store: any ObjectStore,
    keepsOriginal: Bool = true
) async throws {
    try await store.put([1, 2, 3], at: ObjectKey(Database.key(name, in: event)))
    let photo = try #require(try await database.add(name, to: event, by: user).photo)
    try await database.execute(
        Statement("update media.photo set keep_original = $2 where id = $1", [photo, keepsOriginal]))
    let result = try ObjectKey("photos/\(photo.uuidString.lowercased()).jpg")
    try await store.put([4, 5], at: result)
    try await database.execute(
        Statement("select media.compressed_v1($1, $2, '{}', '\\x0405')", [photo, result.text]))
    try await database.execute("delete from errand.job where kind in ('image_compression', 'upload_retry')")
    try await database.execute(
        Statement("select media.delivered_v1(id, key) from media.upload where photo = $1", [photo]))
}
