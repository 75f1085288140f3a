import Postgres

extension Statement {
    /// Makes workers seem to be lost, as if a rescue had once found them silent, and returns their ids. The next rescue
    /// takes their jobs, unless a heartbeat comes before it.
    package static func silencesWorkers(
        where condition: String = "true", _ parameters: [any PostgresEncodable] = []
    ) -> Statement {
        Statement(
            """
            update errand.worker
            set heartbeat_at = now() - lease - interval '1 second', missed_at = now() - 2 * heartbeat_interval
            where \(condition)
            returning id
            """, parameters)
    }
}
