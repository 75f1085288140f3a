import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Photos with originals from an app's server", .serialized) struct HandedOverTests {
    /// The calls of an API server for photos that a phone could not store.
    enum Call: String, Sendable { case create, submit, add }

    enum StoreState: Sendable, CaseIterable {
        case up
        /// Down for all calls; back afterwards.
        case down
        /// Lost after the first transaction; back after the last.
        case lost
    }

    private static let orders: [[Call]] = [[.create, .submit, .add], [.create, .add, .submit]]

    /// The calls of one order, in one transaction, in two, and in three.
    private static func groupings(of calls: [Call]) -> [[[Call]]] {
        [[calls], [[calls[0]], [calls[1], calls[2]]], [[calls[0], calls[1]], [calls[2]]], calls.map { [$0] }]
    }

    @Test(
        "in every order and grouping of the calls, with the store up, down and coming back, no photo fails",
        arguments: orders, StoreState.allCases)
    func delivered(order: [Call], state: StoreState) async throws {
        try await withService { service in
            let database = service.database
            var photos = 0
            // Without time between the transactions, and with time for the jobs.
            for isIdleBetween in [false, true] {
                for groups in Self.groupings(of: order) where !isIdleBetween || groups.count > 1 {
                    if state == .down { try service.loseStore() }
                    var event: UUID?
                    for (index, calls) in groups.enumerated() {
                        event = try await run(calls, event, in: database)
                        if isIdleBetween { #expect(try await database.becomes(Self.nothingRuns)) }
                        if state == .lost, index == 0, groups.count > 1 { try service.loseStore() }
                    }
                    if service.isStoreLost { try service.findStore() }
                    photos += keys(of: try #require(event)).count
                }
            }
            #expect(
                try await database.becomes(
                    "(select count(*) from media.photo_status where state = 'delivered') = \(photos)",
                    within: .seconds(120)))
            #expect(
                try await database.lines("select state, error from media.photo_status where state <> 'delivered'") == []
            )
            #expect(try await database.number("select count(*) from errand.failed") == 0)
            #expect(try await database.becomes("not exists (select from media.upload where delivered_at is null)"))
        }
    }

    @Test("an upload that commits long after its photo failed retries that photo")
    func openTransaction() async throws {
        try await withService { service in
            let database = service.database
            let event = try await database.makeEvent()
            let key = Database.key("1.jpg", in: event)
            try await database.transaction { transaction in
                try await transaction.execute(
                    Statement("select media.submit_upload($1, $2)", [key, Bytes(Samples.small)]))
                try await database.add("1.jpg", to: event)
                #expect(try await database.becomes("exists (select from media.photo where state = 'failed')"))
            }
            #expect(try await database.becomes("exists (select from media.photo_status where state = 'delivered')"))
            #expect(try await database.number("select count(*) from errand.failed") == 0)
        }
    }

    private static let nothingRuns =
        "not exists (select from errand.job where state in ('available', 'running', 'scheduled'))"

    private func keys(of event: UUID) -> [String] { (1...5).map { Database.key("\($0).png", in: event) } }

    /// Makes the calls in one transaction; returns the event.
    private func run(_ calls: [Call], _ known: UUID?, in database: Database) async throws -> UUID {
        try await database.transaction { transaction in
            var event = known
            for call in calls {
                switch call {
                case .create:
                    event = try await transaction.query("select events.create('anna', 'Party')").scalar(UUID.self)
                case .submit:
                    try await transaction.execute(
                        Statement(
                            "select media.submit_upload(key, $2, 'image/png') from unnest($1::text[]) as key",
                            [keys(of: try #require(event)), Bytes(Samples.small)]))
                case .add:
                    let event = try #require(event)
                    let statuses = try await transaction.query(
                        Statement(
                            "select added.status from unnest($2::text[]) as key, events.add_photo($1, 'anna', key) as added",
                            [event, keys(of: event)])
                    ).column(0, as: String.self)
                    #expect(statuses == [String](repeating: "added", count: 5))
                }
            }
            return try #require(event)
        }
    }
}

extension Service {
    /// Moves the store's folder away, like an unmounted disk.
    fileprivate func loseStore() throws { try FileManager.default.moveItem(atPath: root, toPath: away) }

    fileprivate func findStore() throws { try FileManager.default.moveItem(atPath: away, toPath: root) }

    fileprivate var isStoreLost: Bool { FileManager.default.fileExists(atPath: away) }

    private var away: String { root + "-away" }
}
