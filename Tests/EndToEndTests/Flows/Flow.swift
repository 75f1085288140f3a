/// A flow of an app: a call, the jobs that follow, and their effect.
struct Flow: Sendable, CustomStringConvertible {
    let name: String
    /// The steps at which its worker can be held.
    var steps: [Step] = []
    /// Keys of originals that a phone has put into the store before.
    var originals: @Sendable (Cast) -> [String] = { _ in [] }
    /// Calls whose effects are complete before the flow begins.
    var before: @Sendable (Cast) -> String? = { _ in nil }
    /// The calls of the flow, in one transaction.
    let calls: @Sendable (Cast) -> String
    /// The calls that take its effect back.
    let delete: @Sendable (Cast) -> String
    /// A condition: its effect is there.
    let effect: @Sendable (Cast) -> String
    /// The disturbances after which its effect may be missing, beside ``Disturbance/delete``.
    var isUndone: @Sendable (Disturbance) -> Bool = { _ in false }

    /// The services that its jobs may wait for.
    var services: [Disturbance] {
        (steps.contains { [.read, .put, .remove].contains($0) } ? [.storeDown] : [])
            + (steps.contains(.push) ? [.pushesDown] : [])
    }

    var description: String { name }
}

extension Flow {
    static let all = [
        moment, replacement, withdrawal, pair, rename, activityStart, activityUpdate, activityEnd, dailyQuote, card,
        eventPhoto, reveal, archive, code, avatar, number, invites, separation, purge, erasure,
    ]
}

// MARK: - Couples
extension Flow {
    static let moment = Flow(
        name: "moment", steps: [.read, .put, .stored, .push, .accepted, .remove], originals: { [$0.original] },
        calls: { "select moments.send('\($0.anna)', media.submit('\($0.original)', '\($0.anna)'))" },
        delete: { "select moments.withdraw('\($0.anna)', id) from moments.moment where sender = '\($0.anna)'" },
        effect: { told("new_moment", by: "moments.current('\($0.ben)')", to: $0) }, isUndone: { $0.endsPair })

    static let replacement = Flow(
        name: "moment in place of another", steps: [.put, .stored, .push, .accepted, .remove],
        originals: { [$0.original] },
        before: { "select moments.send('\($0.anna)', media.submit('\($0.original)', '\($0.anna)'))" },
        calls: {
            """
            select media.submit_upload('\($0.original)2', \(image), 'image/png', '\($0.anna)');
            select moments.send('\($0.anna)', media.submit('\($0.original)2', '\($0.anna)'))
            """
        },
        delete: { "select media.remove(id) from moments.moment where sender = '\($0.anna)'" },
        effect: {
            """
            (select count(*) from media.photo where owner = '\($0.anna)') = 1
            and exists (select from media.photo where source_key = '\($0.original)2')
            and \(told("new_moment", by: "moments.current('\($0.ben)')", to: $0, times: 2))
            """
        }, isUndone: { $0.endsPair })

    static let withdrawal = Flow(
        name: "moment taken back", steps: [.push, .accepted, .remove], originals: { [$0.original] },
        before: { moment.calls($0) },
        calls: { moment.delete($0) }, delete: { "select pairing.disconnect('\($0.ben)')" },
        effect: {
            """
            not exists (select from moments.current('\($0.ben)'))
            and \(told("moment_withdrawn", by: "pairing.partner_of('\($0.ben)')", to: $0))
            """
        }, isUndone: { $0.endsPair })

    static let pair = Flow(
        name: "pair", steps: [.push, .accepted], before: { "select pairing.disconnect('\($0.anna)')" },
        calls: \.pairing,
        delete: { "select pairing.disconnect('\($0.ben)')" },
        effect: { told("paired", by: "pairing.partner_of('\($0.ben)')", to: $0, times: 2) }, isUndone: { $0.endsPair })

    static let rename = Flow(
        name: "changed name", steps: [.push, .accepted], calls: { "select people.rename('\($0.anna)', 'Annie')" },
        delete: { "select people.erase('\($0.anna)')" },
        effect: {
            """
            people.name_of('\($0.anna)') is not null
            and \(told("partner_renamed", by: "pairing.partner_of('\($0.ben)')", to: $0))
            """
        }, isUndone: { $0.endsPair })
}

// MARK: - Lock screens
extension Flow {
    private static func start(_ cast: Cast, _ token: String) -> String {
        "select activity.start('\(cast.ben)', 'Anna', 'Hi', \(token), who => '\(cast.anna)')"
    }

    private static func live(_ cast: Cast, _ condition: String) -> String {
        "exists (select from activity.activity where user_id = '\(cast.ben)' and \(condition))"
    }

    private static let end: @Sendable (Cast) -> String = {
        "select activity.end_now(id, message => 'Bye') from activity.activity where user_id = '\($0.ben)'"
    }

    private static let isErased: @Sendable (Disturbance) -> Bool = { [.eraseSender, .eraseReceiver].contains($0) }

    static let activityStart = Flow(
        name: "activity: start", steps: [.push, .accepted],
        calls: { start($0, "start_token => '\($0.startToken)'") }, delete: end,
        effect: { live($0, "start_accepted_at is not null") }, isUndone: isErased)

    static let activityUpdate = Flow(
        name: "activity: update", steps: [.push, .accepted],
        before: { start($0, "token => '\($0.token)'") },
        calls: {
            "select activity.update(id, message => 'Oh') from activity.activity where user_id = '\($0.ben)'"
        },
        delete: end, effect: { live($0, "sent_version = 2") }, isUndone: isErased)

    static let activityEnd = Flow(
        name: "activity: end", steps: [.push, .accepted],
        before: { start($0, "token => '\($0.token)'") }, calls: end,
        delete: { "select people.erase('\($0.ben)')" },
        effect: { live($0, "state = 'ended' and end_reason = 'ended by a push'") }, isUndone: isErased)
}

// MARK: - Quotes
extension Flow {
    static let dailyQuote = Flow(
        name: "quote of the day", steps: [.push, .accepted],
        calls: {
            """
            update quotes.subscription
            set next_day = (now() at time zone 'UTC')::date, next_at = now()
            where user_id = '\($0.ben)' and ended_at is null;
            select errand.enqueue('daily_quote')
            """
        },
        delete: { "select quotes.unsubscribe('\($0.ben)')" },
        effect: {
            """
            exists (select from quotes.subscription where user_id = '\($0.ben)' and last_day is not null)
            and \(told("daily_quote", by: "quotes.subscription_of('\($0.ben)')", to: $0))
            """
        }, isUndone: { [.eraseReceiver, .unsubscribe].contains($0) })

    static let card = Flow(
        name: "card", steps: [.put, .stored],
        calls: { "select quotes.card(\($0.number % 100 + 1), '\(["paper", "sky", "slate"][$0.number / 100 % 3])')" },
        delete: { "select quotes.put('Know \($0.number).', 'Delphi', 'Wisdom', id => \($0.number % 100 + 1))" },
        effect: {
            "exists (select from quotes.card_status where quote_id = \($0.number % 100 + 1) and state = 'stored')"
        })
}

// MARK: - Events
extension Flow {
    private static let addPhoto: @Sendable (Cast) -> String = {
        """
        select events.add_photo('\($0.event)', '\($0.ben)', '\($0.eventOriginal)',
            variants => '[{"name": "thumb", "max_edge": 16, "max_bytes": 40000}]')
        """
    }

    private static let show: @Sendable (Cast) -> String = {
        "select events.edit('\($0.event)', '\($0.anna)', without_reveal => true)"
    }

    static let eventPhoto = Flow(
        name: "photo of an event", steps: [.read, .put, .stored, .remove], originals: { [$0.eventOriginal] },
        calls: addPhoto,
        delete: { "select events.delete_photo(photo, user_id) from events.photo where event_id = '\($0.event)'" },
        effect: { "exists (select from events.photos_of('\($0.event)', '\($0.ben)') where state = 'delivered')" },
        isUndone: { $0.leavesEvent })

    static let reveal = Flow(
        name: "reveal", steps: [.push, .accepted],
        calls: { "select events.edit('\($0.event)', '\($0.anna)', reveal_at => now())" },
        delete: { "select events.delete('\($0.event)', '\($0.anna)')" },
        effect: {
            """
            exists (select from events.event where id = '\($0.event)' and revealed_at is not null)
            and \(told("event_reveal", by: "events.event", to: $0))
            """
        }, isUndone: { $0.leavesEvent })

    static let archive = Flow(
        name: "archive", steps: [.read, .put, .stored], originals: { [$0.eventOriginal] },
        before: { addPhoto($0) + ";" + show($0) },
        calls: { "select events.archive('\($0.event)', '\($0.ben)')" },
        delete: { "select events.delete_photo(photo, user_id) from events.photo where event_id = '\($0.event)'" },
        effect: { "exists (select from events.archive where event_id = '\($0.event)' and made_at is not null)" },
        isUndone: { $0.leavesEvent || $0 == .revealMoved })

    static let code = Flow(
        name: "QR code", steps: [.put, .stored],
        calls: { "select events.code('\($0.event)', 'https://example.com/\($0.number)')" },
        delete: { "select events.delete('\($0.event)', '\($0.anna)')" },
        effect: { "exists (select from events.code_status where event_id = '\($0.event)' and state = 'stored')" },
        isUndone: { $0.endsEvent })
}

// MARK: - Persons
extension Flow {
    static let avatar = Flow(
        name: "avatar", steps: [.put, .stored],
        before: { "select media.submit_upload('avatars/\($0.anna).png', '\\x01', 'image/png', '\($0.anna)', true)" },
        calls: { "select media.submit_upload('avatars/\($0.anna).png', '\\x02', 'image/png', '\($0.anna)', true)" },
        delete: { "select people.erase('\($0.anna)')" },
        effect: { "exists (select from media.upload where owner = '\($0.anna)' and delivered_at is not null)" },
        isUndone: { $0 == .eraseSender })

    static let number = Flow(
        name: "number",
        calls: { "select identity.assign('\($0.ben)'), errand.enqueue('number_pool')" },
        delete: { "select people.erase('\($0.ben)')" },
        effect: {
            "identity.number_of('\($0.ben)') is not null and (select free >= pool_target from identity.pool_status)"
        }, isUndone: { $0 == .eraseReceiver })

    static let invites = Flow(
        name: "expiry of an invite",
        calls: {
            """
            select pairing.create_invite('\($0.carl)');
            update pairing.invite
            set created_at = created_at - interval '25 hours', expires_at = expires_at - interval '25 hours'
            where inviter = '\($0.carl)';
            select errand.enqueue('invite_expiry')
            """
        },
        delete: { "select people.erase('\($0.carl)')" },
        effect: { "exists (select from pairing.invite where inviter = '\($0.carl)' and state = 'expired')" })
}

// MARK: - Ends
extension Flow {
    static let separation = Flow(
        name: "end of a pair", steps: [.push, .accepted, .remove], originals: { [$0.original] },
        before: { moment.calls($0) },
        calls: { "select pairing.disconnect('\($0.anna)')" }, delete: { "select people.erase('\($0.anna)')" },
        effect: {
            """
            not exists (select from media.photo where owner = '\($0.anna)')
            and \(told("pair_ended", by: "(select) as always", to: $0))
            """
        }, isUndone: { $0 == .eraseReceiver })

    static let purge = Flow(
        name: "purge of an event", steps: [.remove], originals: { [$0.eventOriginal] },
        before: { addPhoto($0) + ";" + show($0) + ";" + archive.calls($0) },
        calls: { Disturbance.purge.calls($0, delete: "") ?? "" },
        delete: { "select people.erase('\($0.ben)')" },
        effect: { "not exists (select from events.event where id = '\($0.event)')" })

    static let erasure = Flow(
        name: "erasure", steps: [.push, .accepted, .remove], originals: { [$0.original, $0.eventOriginal] },
        before: { moment.calls($0) + ";" + addPhoto($0) }, calls: { "select people.erase('\($0.anna)')" },
        delete: { "select people.erase('\($0.ben)')" },
        effect: { "people.export('\($0.anna)') = '{}' and \(told("pair_ended", by: "(select) as always", to: $0))" },
        isUndone: { [.disconnect, .eraseReceiver, .rename].contains($0) })
}

extension Flow {
    /// The bytes of a photo in SQL.
    static let image = "'\\x\(smallImage.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'"

    /// A condition: `source` has rows, and each of Ben's phones got this push, unless they are not his any more.
    private static func told(_ what: String, by source: String, to cast: Cast, times: Int = 1) -> String {
        """
        exists (select from \(source))
        and (
            not exists (select from devices.device where user_id = '\(cast.ben)')
            or (
                select count(*)
                from notify.delivery
                join notify.message on message.id = message_id
                where user_id = '\(cast.ben)' and coalesce(profile, data ->> 'event') = '\(what)'
                    and delivery.state = 'accepted') >= \(2 * times)
        )
        """
    }
}
