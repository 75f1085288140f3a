import Errand
import Foundation
import Postgres

extension Diagnostics {
    /// The checks that need the database, for each one. If it can't be reached, that is the only finding.
    @Sendable func checkDatabase() async -> [Finding] {
        do {
            return try await onEachCell { cell in
                do {
                    return try await environment.withConnection(to: cell.configuration, needsSchema: false) {
                        await checkDatabase($0, cell.configuration)
                    }
                } catch {
                    return [Self.finding(ofUnreachable: error)]
                }
            }
        } catch {
            return [Self.finding(ofUnreachable: error)]
        }
    }

    private static func finding(ofUnreachable error: any Error) -> Finding {
        let failure = Failure(error) ?? Failure(code: Failure.failed, "\(error)")
        let fix =
            error is ConfigurationError
            ? "set DATABASE_URL, such as postgresql://user@host:5432/database"
            : ConnectionAdvice(for: failure.message).fix
        return .fail("database", failure.message, fix: fix, code: failure.code)
    }

    private func checkDatabase(_ connection: Connection, _ configuration: PostgresConfiguration) async -> [Finding] {
        var findings = [await checkServer(connection, configuration), await checkTransport(connection)]
        let writes = role.needsWrites ? await checkWrites(connection) : nil
        if let writes { findings.append(writes) }
        findings.append(await checkSettings(connection))
        let schema = await checkSchema(connection)
        findings.append(schema)
        let hasSchema = schema.result == .ok
        // Without a schema there are no rights, and nothing runs.
        if hasSchema, role.isService { findings.append(await checkHome(connection)) }
        if hasSchema { findings += await checkRights(connection) }
        if role.isService { findings.append(await checkClock(connection)) }
        // LISTEN needs a server that takes writes.
        if role.runsJobs, writes?.result == .ok { findings.append(await checkWakeups(configuration)) }
        if hasSchema, role.seesWhatRuns { findings += await checkRunning(connection) }
        return findings
    }

    private func checkServer(_ connection: Connection, _ configuration: PostgresConfiguration) async -> Finding {
        let version = await connection.serverVersion / 10_000
        guard (14...18).contains(version) else {
            return .fail(
                "database", "PostgreSQL \(version)", fix: "expected PostgreSQL 14 to 18: move the database there")
        }
        return .ok("database", "PostgreSQL \(version) at \(configuration)")
    }

    /// For another host, only `verify-full` ensures that it is the right server and that nobody listens.
    private func checkTransport(_ connection: Connection) async -> Finding {
        guard let transport = await connection.transport else {
            return .warn("tls", "the connection was lost", fix: "see the server's log")
        }
        return Self.finding(of: transport)
    }

    static func finding(of transport: Transport) -> Finding {
        if transport.isLocal { return .ok("tls", "not needed: the server is on this host") }
        if transport.sslMode == "verify-full" { return .ok("tls", "the server's certificate and name are verified") }
        return .warn(
            "tls", "\(transport.host) is another host, and sslmode is \(transport.sslMode): others may read along",
            fix: "add sslmode=verify-full to DATABASE_URL, and sslrootcert=FILE with the authority of its certificate")
    }

    private func checkWrites(_ connection: Connection) async -> Finding {
        do {
            guard let cause = try await connection.readOnly() else {
                return .ok("writes", "the server accepts writes")
            }
            return .fail("writes", cause.reason, fix: cause.fix)
        } catch {
            return .fail("writes", "\(error)", fix: "see the server's log", code: Failure.unreachable)
        }
    }

    /// What the server, the database and the user set otherwise than most do.
    private func checkSettings(_ connection: Connection) async -> Finding {
        do {
            let (unused, limit, unidentified) = try await connection.query(Self.unusualSettings)[0]
                .decode([String].self, String.self, [String].self)
            if let table = unidentified.first {
                return .warn(
                    "settings", "\(table) has no replica identity: with a publication for all tables its deletes fail",
                    fix: "alter table \(table) replica identity full")
            }
            if limit != "-1" {
                return .warn(
                    "settings", "temp_file_limit is \(limit): a statement that needs more temporary files fails",
                    fix: "alter database … set temp_file_limit = -1")
            }
            let detail = unused.isEmpty ? "as most databases have them" : "not used: \(unused.joined(separator: ", "))"
            return .ok("settings", detail)
        } catch {
            return .fail("settings", "\(error)", fix: "see the server's log", code: Failure.failed)
        }
    }

    /// Defaults that the program's own sessions don't use, the limit of temporary files, and tables whose deletes a
    /// publication would refuse.
    private static let unusualSettings: Statement = """
        select
            array(
                select entry
                from pg_db_role_setting
                cross join unnest(setconfig) as entry
                where setdatabase in (0, (select oid from pg_database where datname = current_database()))
                    and setrole in (0, (select oid from pg_roles where rolname = current_user))
                    and split_part(entry, '=', 1) in (
                        'default_transaction_isolation', 'search_path', 'standard_conforming_strings')
                order by entry),
            current_setting('temp_file_limit'),
            array(
                select oid::regclass::text
                from pg_class
                where relnamespace = to_regnamespace('errand') and relkind in ('r', 'p') and relnatts > 0
                    and relreplident = 'd'
                    and not exists (select from pg_index where indrelid = pg_class.oid and indisprimary)
                order by 1)
        """

    private func checkSchema(_ connection: Connection) async -> Finding {
        do {
            let newer = try await environment.requireSchema(on: connection)
            let mayRead = try await connection.query(
                """
                select case
                    when has_schema_privilege('errand', 'usage') then has_table_privilege('errand.migration', 'select')
                    else false
                end
                """
            ).scalar(Bool.self)
            guard mayRead else { return .ok("schema", "not checked: this user lacks the right") }
            if let newer { return .ok("schema", "of errand \(newer), on which this program can run") }
            let version = try await connection.query("select errand.schema_version()").scalar(Int.self)
            return .ok("schema", "version \(version), as this program needs it")
        } catch let error as PostgresError where error.sqlState == "42501" {
            return .fail(
                "schema", error.detail, fix: "grant \(role.right.role) to the user of DATABASE_URL")
        } catch let error as PostgresError where error.code == .schema {
            return .fail("schema", error.detail, fix: error.hint ?? "run `errand migrate` of the newest version")
        } catch {
            let failure = Failure(error) ?? Failure(code: Failure.failed, "\(error)")
            return .fail("schema", failure.message, fix: "run `errand migrate`", code: failure.code)
        }
    }

    /// A copy claims and schedules nothing until it is adopted.
    private func checkHome(_ connection: Connection) async -> Finding {
        do {
            let original = try await connection.query("select errand.copy_of()").scalar(String?.self)
            guard let original else {
                let cell = try await connection.query("select errand.cell()").scalar(Int.self)
                return .ok("home", "this database is no copy of another; its job ids are those of cell \(cell)")
            }
            return .fail(
                "home", "nothing is claimed or scheduled here: this database is a copy of \(original)",
                fix: "when the original runs no jobs any more: select errand.adopt('…')")
        } catch  where error.sqlState == "42501" {
            return .ok("home", "not checked: this user lacks the right")
        } catch {
            return .fail("home", "\(error)", fix: "see the server's log", code: Failure.failed)
        }
    }

    /// Compares this host's clock with the server's, within half a round trip.
    private func checkClock(_ connection: Connection) async -> Finding {
        do {
            let before = Date()
            let server = try await connection.query("select clock_timestamp()").scalar(Timestamp.self)
            let took = Date().timeIntervalSince(before)
            return Self.finding(ofSkew: server.date.timeIntervalSince(before) - took / 2, within: took / 2)
        } catch {
            return .fail("clock", "\(error)", fix: "see the server's log", code: Failure.unreachable)
        }
    }

    /// - Parameter within: how much of the difference the round trip may have caused, in seconds.
    static func finding(ofSkew skew: Double, within uncertainty: Double) -> Finding {
        let text = String(format: "%.0f ms from the server's, give or take %.0f", skew * 1000, uncertainty * 1000)
        guard abs(skew) > 1 + uncertainty else { return .ok("clock", text) }
        return .fail(
            "clock", text, fix: "let both hosts keep time by NTP (chrony): more than 1 s apart, ticks come late",
            code: Failure.failed)
    }

    /// Behind a transaction pooler everything but wake-ups works, so that is no failure.
    private func checkWakeups(_ configuration: PostgresConfiguration) async -> Finding {
        let name = "wake-ups"
        let database = Database(configuration: configuration, maximumConnections: 1, logger: environment.logger)
        do {
            let connection = try await database.makeConnection()
            let isDelivered = try await connection.listenIsDelivered(from: database)
            await connection.close()
            await database.close()
            if isDelivered { return .ok(name, "NOTIFY is delivered: no pooler drops it") }
            let poll = environment.settings.value(.pollInterval)?.text ?? "-"
            let detail = "NOTIFY is not delivered: a pooler drops it, and workers poll every \(poll)"
            if environment.settings.value(.listen)?.text == "false" { return .ok(name, detail) }
            return .warn(
                name, detail,
                fix: "give workers a DATABASE_URL past the pooler, or set ERRAND_LISTEN=false if polling is intended")
        } catch {
            await database.close()
            let isRefused = error.code == .connectionLost
            return .fail(
                name, "\(error)",
                fix: isRefused ? "allow this user three connections at least" : "see the server's log",
                code: Failure.unreachable)
        }
    }
}
