import Errand
import Foundation
import Postgres

extension Checkup {
    /// The checks that need the database; where it can't be reached, that is the only finding.
    @Sendable func checkDatabase() async -> [Finding] {
        do {
            let configuration = try environment.database()
            let connection = try await Connection.connect(configuration, logger: environment.logger)
            let schema = await checkSchema(connection)
            let hasSchema = schema.result == .ok
            var findings = [await checkServer(connection, configuration), schema]
            // Without a schema there are no rights to speak of, and nothing runs.
            if hasSchema { findings += await checkRights(connection) }
            findings.append(await checkClock(connection))
            findings.append(await checkWakeups(configuration))
            if hasSchema { findings += await checkRunning(connection) }
            await connection.close()
            return findings
        } catch {
            let failure = Failure(error) ?? Failure(code: Failure.failed, "\(error)")
            let mend =
                failure.code == Failure.misconfigured
                ? "set DATABASE_URL, such as postgresql://user@host:5432/database"
                : "start PostgreSQL, or mend DATABASE_URL, the network or pg_hba.conf"
            return [.fail("database", failure.message, mend: mend, code: failure.code)]
        }
    }

    private func checkServer(_ connection: Connection, _ configuration: PostgresConfiguration) async -> Finding {
        let version = await connection.serverVersion / 10_000
        guard (13...18).contains(version) else {
            return .fail(
                "database", "PostgreSQL \(version)", mend: "expected PostgreSQL 13 to 18: move the database there")
        }
        return .ok("database", "PostgreSQL \(version) at \(configuration)")
    }

    private func checkSchema(_ connection: Connection) async -> Finding {
        do {
            try await Migrator.errand.require(on: connection)
            let version = try await connection.query("select errand.schema_version()").scalar(Int.self)
            return .ok("schema", "version \(version), as this program needs it")
        } catch let error as PostgresError where error.sqlState == "42501" {
            return .fail("schema", error.detail, mend: "grant errand_worker to the user of DATABASE_URL")
        } catch let error as PostgresError where error.code == .schema {
            return .fail("schema", error.detail, mend: error.hint ?? "run `errand migrate` of the newest version")
        } catch {
            let failure = Failure(error) ?? Failure(code: Failure.failed, "\(error)")
            return .fail("schema", failure.message, mend: "run `errand migrate`", code: failure.code)
        }
    }

    /// Whether the five roles are there, and what the user of this program may do.
    private func checkRights(_ connection: Connection) async -> [Finding] {
        do {
            let row = try await connection.query(
                """
                select session_user::text,
                    array(
                        select name
                        from unnest('{errand_owner,errand_worker,errand_enqueuer,errand_ops,errand_monitor}'::text[]) as name
                        where to_regrole(name) is null),
                    array(
                        select word
                        from (
                            values (1, 'enqueue', 'enqueue'), (2, 'work', 'claim_v2'), (3, 'look', 'health'),
                                (4, 'change', 'cancel')
                        ) as right_to(place, word, function)
                        where exists (
                            select
                            from pg_proc
                            where pronamespace = to_regnamespace('errand') and proname = function
                                and has_function_privilege(oid, 'execute'))
                        order by place)
                """)[0]
            let (user, missing, rights) = try row.decode(String.self, [String].self, [String].self)
            let roles: Finding =
                missing.isEmpty
                ? .ok("roles", "all five are there")
                : .fail(
                    "roles", "missing: \(missing.joined(separator: ", "))",
                    mend: "as a superuser: \(missing.map { "create role \($0) nologin" }.joined(separator: "; ")); "
                        + "then run `errand migrate`")
            let list = rights.isEmpty ? "nothing" : rights.joined(separator: ", ")
            guard rights.contains("work") else {
                return [
                    roles,
                    .fail(
                        "rights", "\(user) may \(list)",
                        mend: "workers and schedulers need: grant errand_worker to \"\(user)\""),
                ]
            }
            return [roles, .ok("rights", "\(user) may \(list)")]
        } catch {
            return [.fail("rights", "\(error)", mend: "grant errand_worker to the user of DATABASE_URL")]
        }
    }

    /// Compares this host's clock with the server's, give or take half a round trip.
    private func checkClock(_ connection: Connection) async -> Finding {
        do {
            let before = Date()
            let server = try await connection.query("select clock_timestamp()").scalar(Timestamp.self)
            let took = Date().timeIntervalSince(before)
            let skew = server.date.timeIntervalSince(before) - took / 2
            let text = String(format: "%.0f ms from the server's, give or take %.0f", skew * 1000, took * 500)
            guard abs(skew) > 1 + took / 2 else { return .ok("clock", text) }
            return .fail(
                "clock", text, mend: "let both hosts keep time by NTP (chrony): more than 1 s apart, ticks come late",
                code: Failure.failed)
        } catch {
            return .fail("clock", "\(error)", mend: "look at the server's log", code: Failure.unreachable)
        }
    }

    /// Behind a pooler that hands each transaction another session all works, but wake-ups: no failure.
    private func checkWakeups(_ configuration: PostgresConfiguration) async -> Finding {
        let name = "wake-ups"
        let database = Database(configuration: configuration, maximumConnections: 1, logger: environment.logger)
        do {
            let connection = try await database.makeConnection()
            let isDelivered = try await connection.listenIsDelivered(from: database)
            await connection.close()
            await database.close()
            if isDelivered { return .ok(name, "NOTIFY is delivered: no pooler takes it away") }
            let poll = environment.settings.value(.pollInterval)?.text ?? "-"
            let detail = "NOTIFY is not delivered: a pooler takes it away, and workers poll every \(poll)"
            if environment.settings.value(.listen)?.text == "false" { return .ok(name, detail) }
            return .warn(
                name, detail,
                mend: "give workers a DATABASE_URL past the pooler, or set ERRAND_LISTEN=false if this is meant")
        } catch {
            await database.close()
            return .fail(name, "\(error)", mend: "allow this user a second connection", code: Failure.unreachable)
        }
    }
}
