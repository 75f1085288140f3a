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
                            ) as right_to (ordinal, verb, function)
                            where exists (
                                select
                                from pg_proc
                                where proname = function
                                    and pronamespace in (
                                        to_regnamespace('errand'), to_regnamespace('errand_internal'))
                                    and has_schema_privilege(pronamespace, 'usage')
                                    and has_function_privilege(oid, 'execute'))
                            order by ordinal)
                    """, [Self.roles]))[0]
            let (user, missing, rights) = try row.decode(String.self, [String].self, [String].self)
            let own = try await connection.rights(of: role.right.role)
            return [Self.finding(ofMissingRoles: missing), finding(of: rights, own, user: user)]
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

    private func finding(of rights: [String], _ own: RoleRights, user: String) -> Finding {
        let list = rights.isEmpty ? "nothing" : rights.joined(separator: ", ")
        if own.isUnlimited {
            return .warn(
                "rights", "\(own.user) may do everything here, as a superuser or the owner of the tables",
                fix: "give the process a login of its own: create role … login in role \(role.right.role)")
        }
        if let first = own.lacks.first {
            return .fail(
                "rights", "\(role.right.role) lacks \(own.lacks.count) of its rights: \(first)",
                fix: "run `errand migrate`, which grants them")
        }
        guard rights.contains(role.right.verb) else {
            return .fail(
                "rights", "\(user) may \(list)",
                fix: "to \(role.right.verb), it needs: grant \(role.right.role) to \"\(user)\"")
        }
        return .ok("rights", "\(user) may \(list)")
    }
}

/// What the user of a session may do of all that a role may.
struct RoleRights {
    let user: String
    let isMember: Bool
    /// Whether the user may do everything, as a superuser or the owner of the tables.
    let isUnlimited: Bool
    /// The grants that the role itself lacks. Empty unless the user depends on them.
    var lacks: [String] = []
}

extension Connection {
    /// What the user of this session may do of all that `role` may. The schema must be there.
    func rights(of role: String) async throws -> RoleRights {
        let row = try await query(
            Statement(
                """
                select current_user::text, coalesce(pg_has_role(to_regrole($1), 'usage'), false),
                    (select rolsuper from pg_roles where rolname = current_user)
                        or pg_has_role(pg_proc.proowner, 'usage'),
                    has_schema_privilege(pronamespace, 'usage') and has_function_privilege(pg_proc.oid, 'execute')
                from pg_proc
                where pronamespace = to_regnamespace('errand_internal') and proname = 'lacking_rights_v1'
                """, [role]))[0]
        let (user, isMember, isUnlimited, mayAsk) = try row.decode(String.self, Bool.self, Bool.self, Bool.self)
        var rights = RoleRights(user: user, isMember: isMember, isUnlimited: isUnlimited)
        guard isMember, !isUnlimited else { return rights }
        let lacking = Statement("select errand_internal.lacking_rights_v1($1)", [role])
        rights.lacks =
            mayAsk
            ? try await query(lacking).column(0, as: String.self)
            : ["grant execute on function errand_internal.lacking_rights_v1(text) to \(role)"]
        return rights
    }
}
