extension Flow {
    /// A condition: `source` has rows, and each of Ben's phones got this push, unless they are not his any more.
    static func told(_ what: String, by source: String, to cast: Cast, times: Int = 1) -> String {
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
