import ErrandStorage
import Postgres

/// What holds for the five apps when all jobs have run, whatever was called before.
package enum AppTruth {
    /// Objects that belong to no row, and objects that the rows promise and the store does not have.
    package static func strayObjects(_ database: Database, _ store: any ObjectStore) async throws -> [String] {
        let listed = Set(
            try await database.query(
                """
                select key from media.upload where removed_at is null
                union select result_key from media.photo where result_key is not null
                union select source_key from media.photo where original_removed_at is null
                union select key from media.variant
                union select key from events.archive where made_at is not null
                """
            ).column(0, as: String.self))
        let promised = Set(
            try await database.query(
                """
                select key from media.upload where removed_at is null and delivered_at is not null
                union select variant.key
                from media.variant
                join media.upload using (photo)
                where delivered_at is not null
                union select key from events.archive where made_at is not null
                """
            ).column(0, as: String.self))
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
    private static let isTrue = """
        case what
            when 'new_moment' then exists (
                select
                from moments.moment
                join pairing.pair on pair.id = pair_id
                where moment.id::text = data ->> 'moment_id' and current_at is not null and pair.ended_at is null
                    and said.user_id in (inviter, invitee) and said.user_id <> sender)
            when 'moment_withdrawn' then not exists (
                select from moments.moment where id::text = data ->> 'moment_id')
            when 'paired' then exists (
                select from pairing.pair
                where id::text = data ->> 'pair_id' and ended_at is null and said.user_id in (inviter, invitee))
            when 'partner_renamed' then exists (
                select from pairing.pair
                where id::text = data ->> 'pair_id' and ended_at is null and said.user_id in (inviter, invitee))
            when 'pair_ended' then not exists (
                select from pairing.pair where id::text = data ->> 'pair_id' and ended_at is null)
            when 'event_reveal' then exists (
                select
                from events.event
                join events.participant as person on person.event_id = event.id
                where event.id::text = data ->> 'event_id' and person.user_id = said.user_id
                    and reveal_at <= now())
            when 'daily_quote' then exists (
                select from quotes.subscription
                where subscription.user_id = said.user_id and ended_at is null)
            -- Data of these has the activity's id; the user is that of the activity.
            when 'activity_start' then exists (
                select from activity.activity where id::text = data ->> 'activity_id' and ended_at is null)
            when 'activity_update' then exists (
                select from activity.activity where id::text = data ->> 'activity_id' and ended_at is null)
            when 'activity_end' then exists (
                select from activity.activity where id::text = data ->> 'activity_id')
            else true
        end
        """
}
