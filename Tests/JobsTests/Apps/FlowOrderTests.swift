import Errand
import ErrandStorage
import ErrandTestKit
import FlowKit
import Foundation
import Postgres
import Testing

@testable import Jobs

/// Calls of the five apps in orders that nobody planned, beside real jobs: whatever came before, no push that waits
/// says what isn't true any more, and nothing is left over or lost.
@Suite("The apps' calls in any order") struct FlowOrderTests {
    @Test(
        "E5, M5, E1: after any calls, no waiting push is untrue, and the store has what the rows say and nothing else",
        arguments: 1...(Hardness.isFull ? 120 : 3))
    func anyOrder(seed: UInt64) async throws {
        try await withService { service in
            var walk = FlowWalk(service: service, random: SeededGenerator(seed: seed))
            try await walk.begin()
            for _ in 1...(Hardness.isFull ? 40 : 25) { try await walk.step() }
            let wrong = try await walk.faults()
            #expect(wrong == [], "seed \(seed): \(walk.history.joined(separator: "\n"))")
        }
    }
}

/// Random calls for three users, one event and its photos.
private struct FlowWalk {
    let service: Service
    var random: SeededGenerator
    /// The calls so far, with what became of them.
    var history: [String] = []

    private var database: Database { service.database }

    mutating func begin() async throws {
        try await database.execute(
            "select devices.register(id, 'apns', md5(id) || md5(id)) from unnest('{anna,ben,carl}'::text[]) as id")
        try await database.pair("anna", "ben")
        try await database.makeEvent(reveal: 3600, guests: ["ben", "carl"])
    }

    mutating func step() async throws {
        let call = nextCall()
        do {
            if call == "wait" { #expect(try await isIdle()) } else { try await database.execute(Statement(call)) }
            history.append(call)
        } catch let error as PostgresError {
            // A refusal; any other state is a fault.
            history.append("\(call): \(error.sqlState ?? "") \(error.detail)")
            #expect(error.sqlState?.hasPrefix("ER4") == true, "\(history.joined(separator: "\n"))")
        }
    }

    private mutating func nextCall() -> String {
        let user = ["anna", "ben", "carl"].randomElement(using: &random) ?? ""
        let other = ["anna", "ben", "carl"].randomElement(using: &random) ?? ""
        let key = "\(history.count).png"
        let flag = Bool.random(using: &random)
        let image = #"'\x\#(Samples.small.map { String(format: "%02x", $0) }.joined())'"#
        let event = "from events.event"
        func stage(_ key: String) -> String { "media.submit_upload(\(key), \(image), 'image/png', '\(user)')" }
        let calls = [
            "wait", "wait", "wait",
            "select \(stage("'m/\(key)'")), moments.send('\(user)', media.submit('m/\(key)', '\(user)'))",
            "select \(stage("'m/\(key)'")), moments.send('\(user)', media.submit('m/\(key)', '\(user)'))",
            "select \(stage("'m/\(key)'")), media.submit('m/\(key)', '\(user)', purpose => 'avatar')",
            "select moments.withdraw('\(user)', id) from moments.moment order by sent_at desc limit 1",
            "select media.remove(id) from media.photo order by md5(id::text) limit 1",
            "select pairing.disconnect('\(user)')",
            "select pairing.redeem_invite(code, '\(other)') from pairing.create_invite('\(user)')",
            "select people.rename('\(user)', 'N\(history.count)')",
            """
            select \(stage("'events/' || id || '/\(key)'")),
                events.add_photo(id, '\(user)', 'events/' || id || '/\(key)') \(event)
            """,
            """
            select \(stage("'events/' || id || '/\(key)'")),
                events.add_photo(id, '\(user)', 'events/' || id || '/\(key)') \(event)
            """,
            "select events.delete_photo(photo, '\(user)') from events.photo order by added_at limit 1",
            "select events.join(id, '\(user)') \(event)", "select events.leave(id, '\(user)', \(flag)) \(event)",
            "select events.exclude(id, '\(user)', '\(other)', \(flag)) \(event)",
            "select events.edit(id, host, reveal_at => now()) \(event)",
            "select events.edit(id, host, without_reveal => true) \(event)",
            "select events.end_now(id, '\(user)') \(event)", "select events.archive(id, '\(user)') \(event)",
            "select events.delete(id, '\(user)') \(event)",
            """
            select events.create('\(user)', 'Party', reveal_at => now() + interval '1 h')
            where not exists (select \(event))
            """,
            "select quotes.subscribe(id, '08:30', 'UTC') from unnest('{anna,ben,carl}'::text[]) as id",
            "select quotes.unsubscribe(user_id) from quotes.subscription where ended_at is null",
            """
            select quotes.send_due_v1(at_time => due + interval '1 s')
            from (select max(next_at) as due from quotes.subscription) as last
            where due is not null
            """,
            "select quotes.card(17)",
            "select activity.start('\(user)', 'A', 'Hi', start_token => repeat('ab', 32), who => '\(other)')",
            "select activity.update(id, message => 'Oh') from activity.activity",
            "select activity.end_now(id) from activity.activity order by started_at limit 1",
            "select devices.register('\(user)', 'apns', md5('\(other)') || md5('\(other)'))",
            "select people.erase('\(user)')",
        ]
        return calls.randomElement(using: &random) ?? ""
    }

    /// Waits until no job is left but pushes, which nobody takes here, and what is due later.
    private func isIdle() async throws -> Bool {
        try await database.becomes(
            """
            not exists (
                select from errand.job
                where queue <> 'pushes' and (state <> 'scheduled' or run_at < now() + interval '20 s'))
            """)
    }

    /// What is wrong when all jobs have run and removals have come to their end.
    func faults() async throws -> [String] {
        var wrong: [String] = []
        if try await !isIdle() {
            wrong += try await database.lines(
                "select 'left: ' || kind || ' ' || state from errand.job where queue <> 'pushes'")
        }
        for _ in 1...5 where try await database.number("select count(*) from media.removal") > 0 {
            try await database.ageRemovals()
            try await database.execute("select errand.enqueue('object_removal')")
            _ = try await isIdle()
        }
        wrong += try await database.lines(
            "select 'not removed: ' || key || coalesce(' ' || error, '') from media.removal")
        wrong += try await database.lines(
            """
            select 'avatars of ' || owner || ': ' || count(*) from media.photo_status
            where purpose = 'avatar' and state = 'delivered'
            group by owner
            having count(*) > 1
            """)
        wrong += try await AppTruth.strayObjects(database, service.store)
        wrong += try await AppTruth.untruePushes(database)
        return wrong
    }
}
