import Postgres

/// Why a connection was refused, as far as the words of the server and of libpq tell it. There is no code: the server's
/// state gets lost in libpq.
struct ConnectionAdvice: Equatable {
    /// What to do about it.
    let fix: String
    /// Whether nothing but a change of the configuration helps. Otherwise the server may be back soon.
    let isConfiguration: Bool

    /// The advice for the text of a failed connection. A server with other languages than English gets the general one.
    init(for text: String) {
        let known: [(words: [String], fix: String, isConfiguration: Bool)] = [
            (
                ["password authentication failed"],
                "correct the password in DATABASE_URL, or set another: alter role … password '…'", true
            ),
            (["no password supplied"], "add the password to DATABASE_URL, or to ~/.pgpass", true),
            (
                ["role \"", "does not exist"], "correct the user in DATABASE_URL, or create it: create role … login",
                true
            ),
            (["database \"", "does not exist"], "correct the database's name in DATABASE_URL, or create it", true),
            (["no pg_hba.conf entry"], "add a line for this host, user and database to pg_hba.conf", true),
            (
                ["could not translate host name"],
                "correct the host in DATABASE_URL, or have the network's name service know it", false
            ),
            (
                ["too many connections"],
                "raise the role's or the database's connection limit, or lower ERRAND_CONNECTIONS of other processes",
                false
            ),
            (
                ["too many clients already"],
                "raise max_connections, or lower ERRAND_CONNECTIONS of other processes", false
            ),
            (["remaining connection slots are reserved"], "raise max_connections, or close idle sessions", false),
        ]
        let found = known.first { entry in entry.words.allSatisfy(text.contains) }
        fix = found?.fix ?? "start PostgreSQL, or correct DATABASE_URL, the network or pg_hba.conf"
        isConfiguration = found?.isConfiguration ?? false
    }
}
