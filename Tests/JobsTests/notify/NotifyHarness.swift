import Postgres

extension Database {
    /// What was sent to devices, in order: the receiver, the title, and the event among the data.
    var notifications: [String] {
        get async throws {
            try await lines(
                """
                select user_id, coalesce(title, text.default_title, '-'), data ->> 'event'
                from notify.delivery
                join notify.message on message.id = message_id
                left join lateral notify.text_of(profile, null, words) as text (default_title, default_body) on true
                order by delivery.id
                """)
        }
    }
}
