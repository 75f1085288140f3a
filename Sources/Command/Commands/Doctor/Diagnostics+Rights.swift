import Postgres

extension Diagnostics {
    private static let roles = ["errand_owner", "errand_worker", "errand_enqueuer", "errand_ops", "errand_monitor"]

    /// Whether the five roles exist, and what the user of this program may do.
    func checkRights(_ connection: Connection) async -> [Finding] {
        do {
            let row = try await connection.query(
                Statement(
                    """
                    select session_user::text,
                        array(select name from unnest($1) as name where to_regrole(name) is null),
                        array(
                            select verb
                            from (
                                values (1, 'enqueue', 'enqueue'), (2, 'work', 'claim_v1'), (3, 'look', 'health'),
                                    (4, 'change', 'cancel'), (5, 'read metrics', 'metrics')
                            ) as right_to (place, verb, function)
                            where exists (
                                select
                                from pg_proc
                                where pronamespace = to_regnamespace('errand') and proname = function
                                    and has_schema_privilege(pronamespace, 'usage')
                                    and has_function_privilege(oid, 'execute'))
                            order by place)
                    """, [Self.roles]))[0]
            let (user, missing, rights) = try row.decode(String.self, [String].self, [String].self)
            return [Self.finding(ofMissingRoles: missing), finding(of: rights, user: user)]
        } catch {
            return [.fail("rights", "\(error)", fix: "see the server's log", code: Failure.failed)]
        }
    }

    private static func finding(ofMissingRoles missing: [String]) -> Finding {
        guard !missing.isEmpty else { return .ok("roles", "all five exist") }
        let statements = missing.map { "create role \($0) nologin" }.joined(separator: "; ")
        return .fail(
            "roles", "missing: \(missing.joined(separator: ", "))",
            fix: "as a superuser: \(statements); then run `errand migrate`")
    }

    private func finding(of rights: [String], user: String) -> Finding {
        let list = rights.isEmpty ? "nothing" : rights.joined(separator: ", ")
        guard rights.contains(role.right.verb) else {
            return .fail(
                "rights", "\(user) may \(list)",
                fix: "to \(role.right.verb), it needs: grant \(role.right.role) to \"\(user)\"")
        }
        return .ok("rights", "\(user) may \(list)")
    }
}
