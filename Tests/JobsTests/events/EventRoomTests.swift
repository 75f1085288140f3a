import AppTestKit
import Errand
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Live updates of events") struct EventRoomTests {
    @Test("E3: an event's room is told of each change that its app shows, once, whatever has caused it")
    func changes() async throws {
        try await withAppDatabase { database, configuration in
            let event = try await database.makeEvent(guests: ["ben"])
            let room = "event:\(event.uuidString.lowercased())"
            func told(_ calls: [String]) async throws -> [String] {
                try await roomEvents(of: configuration, database) {
                    for call in calls { try await database.execute(Statement("select \(call)")) }
                }.map { $0.replacing("\(room) ", with: "") }
            }
            let photo = try #require(try await database.add("1.jpg", to: event, by: "ben").photo)
            let other = try #require(try await database.add("2.jpg", to: event, by: "ben").photo)
            #expect(
                try await told([
                    "events.join('\(event)', 'carl')", "events.join('\(event)', 'carl')",
                    "events.rename_participant('\(event)', 'carl', 'Carl')",
                    "events.rename_participant('\(event)', 'dora', 'Dora')",
                ]) == ["joined event_id", "participant_renamed event_id"])
            #expect(
                try await told(["events.edit('\(event)', 'anna', title => 'Party')", "events.edit('\(event)', 'ben')"])
                    == ["edited event_id"])
            #expect(
                try await told(["media.stage('\(photo)', 'photos/1.jpg', 'image/jpeg', null, '\\x00')"]) == [])
            #expect(
                try await told(["media.delivered_v1(id, null, revision, true) from media.upload"])
                    == ["photo_stored event_id,photo_id"])
            #expect(
                try await told([
                    "events.code('\(event)', 'party://2')", "events.code_drawn_v1(id, '\\x00') from events.code",
                    "media.delivered_v1(id, key, revision) from media.upload where photo is null",
                ]) == ["code_stored code_id,event_id"])
            #expect(
                try await told(["events.delete_photo('\(photo)', 'ben')", "media.remove('\(other)')"])
                    == ["photo_deleted event_id,photo_id", "photo_deleted event_id,photo_id"])
            #expect(
                try await told(["events.leave('\(event)', 'carl')", "people.erase('ben')"])
                    == ["left event_id", "left event_id"])
        }
    }

    @Test("a deleted event is told about once, and nothing of its photos and participants")
    func deleted() async throws {
        try await withAppDatabase { database, configuration in
            let event = try await database.makeEvent(guests: ["ben"])
            for number in 1...3 { try await database.add("\(number).jpg", to: event, by: "ben") }
            let told = try await roomEvents(of: configuration, database) {
                try await database.execute("select events.delete(id, 'anna') from events.event")
            }
            #expect(told == ["event:\(event.uuidString.lowercased()) deleted event_id"])
        }
    }
}
