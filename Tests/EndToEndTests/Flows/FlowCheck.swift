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
            """
            select token, user_id, null from devices.device where retired_at is null
            union all select coalesce(token, start_token), user_id, id::text from activity.activity
            """
        ).map { try $0.decode(String?.self, String.self, String?.self) }
        let known = Dictionary(users.map { ($0.0 ?? "", ($0.1, $0.2)) }) { one, _ in one }
        let later = accepted.filter { $0.at > fact }.map { push in
            let (user, activity) = known[push.token] ?? (nil, nil)
            return Said(
                user: user, what: push.what, data: push.data.merging(activity.map { ["activity_id": $0] } ?? [:]) { $1 }
            )
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
            select platform || ' ' || coalesce(profile, data ->> 'event') || ' ' || coalesce(
                data ->> 'moment_id', data ->> 'pair_id', data ->> 'event_id', user_id || ' ' || (data ->> 'day'), ''),
                count(*)
            from notify.delivery
            join notify.message on message.id = message_id
            group by 1
            """
        ).map { try $0.decode(String?.self, Int.self) }
        let most = Dictionary(uniqueKeysWithValues: wanted.compactMap { row in row.0.map { ($0, row.1) } })
        var counts: [String: Int] = [:]
        for push in accepted {
            let id = push.data["moment_id"] ?? push.data["pair_id"] ?? push.data["event_id"] ?? ""
            counts["\(push.token.hasPrefix("google") ? "fcm" : "apns") \(push.what) \(id)", default: 0] += 1
        }
        return counts.filter { $0.value > most[$0.key] ?? .max }.map { "pushed \($0.value) times: \($0.key)" }
    }

    /// Whatever should have ended, or should not exist.
    private static let left = """
        select 'job left: ' || kind || ' ' || state
        from errand.job
        where not (state = 'scheduled' and run_at > now() + interval '10 minutes'
            and kind in ('activity_end', 'event_reveal'))
        union all select 'failed: ' || kind from errand.failed
        union all select 'circuit open: ' || name from errand.circuit where opened_at is not null
        union all select 'not removed: ' || key || coalesce(' ' || error, '') from media.removal
        union all select 'receipt not finished: ' || reason from media.receipt where finished_at is null
        union all
        select 'photo ' || state || ': ' || source_key || coalesce(' ' || error, '')
        from media.photo_status
        where state <> 'delivered'
        union all select 'not stored: ' || key from media.upload where delivered_at is null or bytes is not null
        union all select 'original kept: ' || source_key from media.photo where original_removed_at is null
        union all select 'moment ' || state || ': ' || moment_id from moments.moment_status where state <> 'current'
        union all
        select 'moment of no pair: ' || moment.id
        from moments.moment
        left join pairing.pair on pair.id = pair_id
        where pair.id is null or pair.ended_at is not null
        union all
        select 'push ' || delivery.state || ': ' || coalesce(profile, data ->> 'event') || coalesce(' ' || reason, '')
        from notify.delivery
        join notify.message on message.id = message_id
        where delivery.ended_at is null or delivery.state not in ('accepted', 'withdrawn', 'token gone')
        union all
        select 'photo of no event: ' || source_key
        from media.photo
        where starts_with(source_key, 'events/') and id not in (select photo from events.photo)
        union all
        select 'archive not made: ' || key
        from events.archive
        join events.event on event.id = event_id
        -- One of photos that are hidden again is made after the reveal.
        where made_at is null and (reveal_at > now()) is not true
        union all select 'code ' || state || ': ' || key from events.code_status where state <> 'stored'
        union all select 'card ' || state || ': ' || key from quotes.card_status where state <> 'stored'
        union all
        select 'activity ' || state || ': ' || id
        from activity.activity
        where ended_at is null and (
            token is not null and (state = 'ending' or sent_version < version)
            or token is null and state <> 'ending' and start_accepted_at is null
            or not exists (select from errand.job where unique_key = 'activity_end/' || activity.id))
        union all
        select 'nobody told of the reveal: ' || id
        from events.event
        where revealed_at is null and reveal_at is not null and not exists (
            select from errand.job where unique_key = 'event_reveal/' || event.id)
        union all
        select 'no quote: ' || user_id from quotes.subscription where next_at <= now() - interval '1 second'
        """
}
