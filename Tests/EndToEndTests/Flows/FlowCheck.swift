import AppTestKit
import ErrandTestKit
import FlowKit
import Foundation
import Postgres

extension FlowBench {
    /// What is wrong with the database and the store when nothing is left to do.
    func faults() async throws -> [String] {
        var wrong = try await database.query(Statement(Self.left)).column(0, as: String.self)
        wrong += try await AppTruth.strayObjects(database, store)
        wrong += try await AppTruth.untruePushes(database)
        wrong += try await AppTruth.lostPushes(database)
        return wrong
    }

    /// What is wrong with the pushes that the services have accepted.
    ///
    /// - Parameters:
    ///   - fact: when the last call was committed. Pushes from then on have to be true.
    ///   - mayRepeat: whether a response was lost: then its push is sent again.
    func faults(in accepted: [Outside.Accepted], since fact: Date, mayRepeat: Bool) async throws -> [String] {
        let users = try await database.query(
            Statement(AppCase.union(.tokens, of: "null::text, null::text, null::jsonb"))
        ).map { try $0.decode(String?.self, String.self, JSONB.self) }
        let known = Dictionary(users.map { ($0.0 ?? "", ($0.1, $0.2)) }) { one, _ in one }
        let later = try accepted.filter { $0.at > fact }.map { push in
            let more = try known[push.token].map { try $0.1.decode([String: String].self) } ?? [:]
            return Said(user: known[push.token]?.0, what: push.what, data: push.data.merging(more) { $1 })
        }
        var wrong = try await AppTruth.untruePushes(among: JSONB(encoding: later), database)
        if !mayRepeat { wrong += try await repeats(among: accepted) }
        return wrong
    }

    private struct Said: Encodable {
        let user: String?
        let what: String
        let data: [String: String]

        enum CodingKeys: String, CodingKey {
            case user = "user_id"
            case what, data
        }
    }

    /// Pushes that a device got more often than there are deliveries of them.
    private func repeats(among accepted: [Outside.Accepted]) async throws -> [String] {
        let wanted = try await database.query(
            """
            select
                platform || ' ' || coalesce(profile, data ->> 'event') || ' ' || coalesce((
                    select string_agg(value #>> '{}', ' ' order by key)
                    from jsonb_each(data)
                    where key like '%\\_id' and jsonb_typeof(value) = 'string'), ''),
                count(*)
            from notify.delivery
            join notify.message on message.id = message_id
            group by 1
            """
        ).map { try $0.decode(String?.self, Int.self) }
        let most = Dictionary(uniqueKeysWithValues: wanted.compactMap { row in row.0.map { ($0, row.1) } })
        var counts: [String: Int] = [:]
        for push in accepted {
            let ids = push.data.filter { $0.key.hasSuffix("_id") }.sorted { $0.key < $1.key }.map(\.value)
            let platform = push.token.hasPrefix("google") ? "fcm" : "apns"
            counts["\(platform) \(push.what) \(ids.joined(separator: " "))", default: 0] += 1
        }
        return counts.filter { $0.value > most[$0.key] ?? .max }.map { "pushed \($0.value) times: \($0.key)" }
    }

    /// Whatever should have ended, or should not exist.
    private static let left = """
        select 'job left: ' || kind || ' ' || state
        from errand.job
        where not (state = 'scheduled' and run_at > now() + interval '10 minutes'
            and kind = any ('{\(AppCase.statements(.later).joined(separator: ","))}'))
        union all select 'failed: ' || kind from errand.failed
        union all select 'circuit open: ' || name from errand.circuit where opened_at is not null
        union all
        \(AppCase.union(.left))
        """
}
