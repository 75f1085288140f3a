import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import FlowKit
import Foundation
import Postgres
import Testing

@testable import Jobs

/// Calls of the apps in orders that nobody planned, beside real jobs: whatever came before, no push that waits
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
        for statement in AppCase.statements(.start) { try await database.execute(Statement(statement)) }
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
        let image = Samples.small.map { String(format: "%02x", $0) }.joined()
        let values = [
            "user": user, "other": other, "number": "\(history.count)", "key": "\(history.count).png",
            "flag": "\(Bool.random(using: &random))", "image": "'\\x\(image)'",
        ]
        // Waits are a tenth of the calls.
        let calls = AppCase.statements(.step)
        let call = (calls + [String](repeating: "wait", count: calls.count / 9)).randomElement(using: &random)
        return (call ?? "").filled(with: values)
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
        let pending = Statement("select exists (\(AppCase.union(.pending, of: "1")))")
        for _ in 1...5 where try await database.query(pending).scalar(Bool.self) {
            for statement in AppCase.statements(.pass) { try await database.execute(Statement(statement)) }
            _ = try await isIdle()
        }
        wrong += try await database.lines(AppCase.union(.wrong))
        wrong += try await AppTruth.strayObjects(database, service.store)
        wrong += try await AppTruth.untruePushes(database)
        return wrong
    }
}
