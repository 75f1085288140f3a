import Errand
import Postgres

/// Why workers and schedulers can't work on a reachable database with a schema.
enum StartObstacle: Sendable, Hashable, CustomStringConvertible {
    /// The server accepts no writes from this session.
    case readOnly(ReadOnly)
    /// It is a copy of another database, and `errand.adopt` has not been called.
    case copy(of: String)

    var description: String {
        switch self {
        case .readOnly(let cause): "\(cause.reason): \(cause.fix)"
        case .copy(let original):
            "nothing is claimed or scheduled here: this database is a copy of \(original); "
                + "when the original runs no jobs any more: select errand.adopt('…')"
        }
    }
}

/// Why a session can't write, and what to do about it.
struct ReadOnly: Sendable, Hashable {
    let reason: String
    let fix: String

    static let standby = ReadOnly(
        reason: "the server is a standby, which accepts no writes until it is promoted",
        fix: "let DATABASE_URL name the primary; of several hosts, the one that accepts writes is chosen")

    private init(reason: String, fix: String) {
        self.reason = reason
        self.fix = fix
    }

    /// A session of `user` begins with `default_transaction_read_only`.
    ///
    /// - Parameter source: where that is set, as `pg_settings` says.
    init(user: String, database: String, source: String) {
        let setting = "default_transaction_read_only"
        reason = "sessions of \(user) are read-only here (\(setting))"
        fix =
            switch source {
            case "user": "alter role \"\(user)\" reset \(setting)"
            case "database": "alter database \"\(database)\" reset \(setting)"
            case "database user": "alter role \"\(user)\" in database \"\(database)\" reset \(setting)"
            case "global": "alter role all reset \(setting)"
            case "client", "environment variable": "remove \(setting) from the options in DATABASE_URL or PGOPTIONS"
            default: "set \(setting) = off in the server's configuration, and reload it"
            }
    }
}

extension Connection {
    /// Why this session can't write; nil if it can.
    func readOnly() async throws -> ReadOnly? {
        let row = try await query(
            """
            select pg_is_in_recovery(), current_setting('transaction_read_only')::boolean, session_user::text,
                current_database()::text, source
            from pg_settings
            where name = 'default_transaction_read_only'
            """)[0]
        let (isStandby, isReadOnly, user, database, source) = try row.decode(
            Bool.self, Bool.self, String.self, String.self, String.self)
        if isStandby { return .standby }
        return isReadOnly ? ReadOnly(user: user, database: database, source: source) : nil
    }

    /// Whether workers and schedulers can begin: the schema is there, and the user has the rights.
    ///
    /// - Returns: the obstacle to wait for, nil if there is none; and the version that has migrated the database, if it
    ///   is newer than this program.
    /// - Throws: ``Failure`` if waiting would not help: the schema or a right is missing. ``PostgresError`` with code
    ///   `schema` if the schema is too new.
    func startObstacle(for environment: Environment) async throws -> (obstacle: StartObstacle?, newer: String?) {
        if let cause = try await readOnly() { return (.readOnly(cause), nil) }
        let newer = try await environment.requireSchema(on: self)
        try await requireRightToWork()
        let original = try await query("select errand.copy_of()").scalar(String?.self)
        return (original.map { .copy(of: $0) }, newer)
    }

    /// Functions for workers and schedulers have a version in their name.
    private func requireRightToWork() async throws {
        let role = DoctorRole.worker.right.role
        let rights = try await rights(of: role)
        if let first = rights.lacks.first {
            throw Failure(
                code: Failure.misconfigured,
                "\(rights.user) is a member of \(role), which lacks \(rights.lacks.count) of its rights: "
                    + "`\(first)`; run `errand migrate`, which grants them")
        }
        guard !rights.isMember else { return }
        let row = try await query(
            #"""
            select current_user::text,
                exists (
                    select
                    from pg_proc
                    join pg_namespace on pg_namespace.oid = pronamespace
                    where nspname = 'errand_internal' and proname ~ '_v\d+$'
                        and not (
                            has_schema_privilege(pronamespace, 'usage')
                            and has_function_privilege(pg_proc.oid, 'execute')))
            """#)[0]
        let (user, isLacking) = try row.decode(String.self, Bool.self)
        guard isLacking else { return }
        throw Failure(
            code: Failure.misconfigured,
            "the user \(user) may not claim and schedule jobs: expected a member of errand_worker; "
                + "have `grant errand_worker to \"\(user)\"` run")
    }
}

/// Limits log lines about waiting: one for each new reason, and the same again after ten minutes.
struct WaitLines {
    private var last: (reason: String, at: ContinuousClock.Instant)?

    /// Whether to log this reason now.
    mutating func allow(_ reason: String, at now: ContinuousClock.Instant = .now) -> Bool {
        if let last, last.reason == reason, now - last.at < .seconds(600) { return false }
        last = (reason, now)
        return true
    }
}
