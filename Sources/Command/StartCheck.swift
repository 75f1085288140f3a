import Errand
import Postgres

/// Why workers and schedulers can't work on a reachable database with a schema.
enum StartObstacle: Sendable, Hashable, CustomStringConvertible {
    /// The server accepts no writes from this session. A standby may be promoted.
    case readOnly(String)
    /// It is a copy of another database, and `errand.adopt` has not been called.
    case copy(of: String)

    var description: String {
        switch self {
        case .readOnly(let reason): reason
        case .copy(let original):
            "nothing is claimed or scheduled here: this database is a copy of \(original); "
                + "when the original runs no jobs any more: select errand.adopt('…')"
        }
    }
}

extension Connection {
    /// Why this session can't write; nil if it can.
    func readOnlyReason() async throws -> String? {
        let row = try await query(
            "select pg_is_in_recovery(), current_setting('transaction_read_only')::boolean, current_user::text")[0]
        let (isStandby, isReadOnly, user) = try row.decode(Bool.self, Bool.self, String.self)
        if isStandby { return "the server is a standby, which accepts no writes until it is promoted" }
        if isReadOnly { return "sessions of \(user) are read-only here (default_transaction_read_only)" }
        return nil
    }

    /// Whether workers and schedulers can begin: the schema is there, and the user has the rights.
    ///
    /// - Returns: the obstacle to wait for, nil if there is none; and the version that has migrated the database, if it
    ///   is newer than this program.
    /// - Throws: ``Failure`` if waiting would not help: the schema or a right is missing. ``PostgresError`` with code
    ///   `schema` if the schema is too new.
    func startObstacle(for migrator: Migrator) async throws -> (obstacle: StartObstacle?, newer: String?) {
        if let reason = try await readOnlyReason() { return (.readOnly(reason), nil) }
        let newer = try await migrator.require(on: self)
        try await requireRightToWork()
        let original = try await query("select errand.copy_of()").scalar(String?.self)
        return (original.map { .copy(of: $0) }, newer)
    }

    /// Functions for workers and schedulers have a version in their name.
    private func requireRightToWork() async throws {
        let row = try await query(
            #"""
            select current_user::text,
                exists (
                    select
                    from pg_proc
                    join pg_namespace on pg_namespace.oid = pronamespace
                    where nspname = 'errand' and proname ~ '_v\d+$'
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
