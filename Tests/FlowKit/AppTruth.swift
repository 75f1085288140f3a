import AppTestKit
import ErrandStorage
import Postgres

/// What holds for all apps when all jobs have run, whatever was called before.
package enum AppTruth {
    /// Objects that belong to no row, and objects that the rows promise and the store does not have.
    package static func strayObjects(_ database: Database, _ store: any ObjectStore) async throws -> [String] {
        let listed = Set(try await database.query(Statement(AppCase.union(.objects))).column(0, as: String.self))
        let promised = Set(try await database.query(Statement(AppCase.union(.promised))).column(0, as: String.self))
        let stored = Set(try await store.keys(beginning: "", after: nil, atMost: 100_000).map(\.text))
        return stored.subtracting(listed).sorted().map { "nobody's object: \($0)" }
            + promised.subtracting(stored).sorted().map { "lost object: \($0)" }
    }

    /// Pushes that wait, and say what isn't true any more.
    package static func untruePushes(_ database: Database) async throws -> [String] {
        let waiting = "\(deliveries) where delivery.ended_at is null"
        return try await database.query(Statement(list(waiting, "not \(isTrue)", as: "untrue"))).column(
            0, as: String.self)
    }

    /// Pushes that were withdrawn, though what they say is true.
    package static func lostPushes(_ database: Database) async throws -> [String] {
        let withdrawn = "\(deliveries) where delivery.state = 'withdrawn'"
        return try await database.query(Statement(list(withdrawn, isTrue, as: "withdrawn though true"))).column(
            0, as: String.self)
    }

    /// Pushes that a device has got, and that say what isn't true.
    ///
    /// - Parameter pushes: an array of objects with `user_id` (null for a token that nobody has), `what` and `data`.
    package static func untruePushes(among pushes: JSONB, _ database: Database) async throws -> [String] {
        let sent = "select * from jsonb_to_recordset($1) as sent(user_id text, what text, data jsonb)"
        return try await database.query(
            Statement(list(sent, "said.user_id is null or not \(isTrue)", as: "untrue"), [pushes])
        ).column(0, as: String.self)
    }

    private static let deliveries = """
        select user_id, coalesce(profile, data ->> 'event') as what, data
        from notify.delivery
        join notify.message on message.id = message_id
        """

    private static func list(_ said: String, _ condition: String, as name: String) -> String {
        """
        with said as (\(said))
        select '\(name): ' || coalesce(what, '') || ' to ' || coalesce(user_id, 'nobody') || ' ' || data
        from said
        where \(condition)
        """
    }

    /// Whether what `said` tells its user is true now.
    private static let isTrue: String = {
        let truths = AppCase.all(.truth).map { truth in
            "when '\(truth.name.prefix { $0 != " " })' then \(truth.statements.joined())"
        }
        return "case what when null then null " + truths.joined(separator: "\n") + " else true end"
    }()
}
