import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Photos that leave an event") struct EventQuotaTests {
    @Test("a photo that failed takes none of its user's photos, nor of its event's")
    func quotas() async throws {
        try await withService { service in
            let database = service.database
            let event = try await database.makeEvent(each: 2, inAll: 2)
            try await service.store.put(Array("Dear Sir".utf8), at: ObjectKey(Database.key("letter.jpg", in: event)))
            try await database.add("letter.jpg", to: event)
            #expect(try await database.becomes("exists (select from media.photo where state = 'failed')"))
            for name in ["1.png", "2.png"] {
                try await service.store.put(Samples.small, at: ObjectKey(Database.key(name, in: event)))
                #expect(try await database.add(name, to: event).status == "added")
            }
            #expect(try await database.add("3.png", to: event).status == "none_left")
        }
    }

    @Test("an event's photo is removed from its event too")
    func ofEvent() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent()
            let photo = try #require(try await database.add("1.jpg", to: event).photo)
            #expect(try await database.lines("select media.remove('\(photo)')") == ["true"])
            #expect(try await database.number("select count(*) from events.photo") == 0)
        }
    }
}
