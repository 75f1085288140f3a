import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

extension Database {
    /// A photo of that owner whose original is nowhere: it is compressed and stored by ``compress(_:)`` and
    /// ``store(_:)``.
    func photo(of owner: String) async throws -> UUID {
        try await query(
            Statement("select media.submit('moments/' || gen_random_uuid() || '.jpg', $1)", [owner])
        ).scalar(UUID.self)
    }

    @discardableResult
    func sendMoment(_ photo: UUID, from sender: String) async throws -> String {
        try await query(Statement("select status from moments.send($1, $2)", [sender, photo])).scalar(String.self)
    }

    /// Sends a photo and stores it. Returns its id.
    @discardableResult
    func storeMoment(from sender: String) async throws -> UUID {
        let photo = try await photo(of: sender)
        #expect(try await sendMoment(photo, from: sender) == "sent")
        try await compress(photo)
        try await deliver(photo)
        return photo
    }

    /// Runs the pending jobs moment_arrival. Returns their states.
    @discardableResult
    func arrive() async throws -> [String] {
        try await query(
            """
            with due as (
                delete from errand.job where kind = 'moment_arrival' returning (payload ->> 'moment')::uuid as moment
            )
            select moments.arrive_v1(moment) from due order by moment
            """
        ).column(0, as: String.self)
    }

    /// The moments and photos in the database, with their states: `anna current`.
    var moments: [String] {
        get async throws {
            #expect(
                try await number("select count(*) from media.photo") == number("select count(*) from moments.moment"))
            return try await lines("select sender || ' ' || state from moments.moment_status order by sent_at")
        }
    }
}
