import ArgumentParser
import Postgres

/// `errand call`: any SQL function.
struct CallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Call any SQL function that the database's user may call; without one, show what there is.",
        discussion: """
            errand call
            errand call help topic=retry
            errand call move_jobs 'ids={4711,4712}' queue=slow reason='the customer waits'
            errand call media.remove photo=6c1d6e0a-… reason='its owner has deleted it'

            A function of another schema than errand has it before its name. A value is as SQL reads it: {1,2} is an \
            array, null is no value. An argument that isn't given has its default. Prints each row as a JSON object, \
            and a single value as it is.
            """)

    @Argument(help: "The function's name.")
    var function: String?

    @Argument(help: "Its arguments by name.")
    var arguments: [String] = []

    func validate() throws {
        if let other = arguments.first(where: { !$0.contains("=") }) {
            throw ValidationError("expected name=value, got '\(other)'")
        }
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            if let function { return try await call(function, on: connection) }
            return try await connection.query("select format('%s  %s', call, does) from errand.help()")
                .column(0, as: String.self)
        }
        for line in lines { print(line.controlsEscaped) }
    }

    private func call(_ function: String, on connection: Connection) async throws -> [String] {
        let parts = function.split(separator: ".", maxSplits: 1).map(String.init)
        let (schema, name) = parts.count == 2 ? (parts[0], parts[1]) : ("errand", function)
        let pairs = arguments.map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
        // The server quotes names and values.
        let row = try await connection.query(
            Statement(
                """
                select
                    coalesce(array_agg(proname::text) filter (where may), '{}'),
                    coalesce(bool_or(prorettype = 'void'::regtype) filter (where may and proname = $2), false),
                    string_agg(pg_get_function_arguments(routine.oid), ' or ') filter (where may and proname = $2),
                    format('%I.%I(%s)', $1::text, $2::text, (
                        select string_agg(
                            format(case when value = 'null' then '%I => null' else '%I => %L' end, argument, value), ', ')
                        from unnest($3::text[], $4::text[]) as given(argument, value)))
                from pg_proc as routine
                join pg_namespace on pg_namespace.oid = pronamespace and nspname = $1
                cross join lateral (
                    select case
                        when has_schema_privilege(nspname, 'usage') then has_function_privilege(routine.oid, 'execute')
                        else false
                    end as may
                ) as rights
                where prokind = 'f'
                """, [schema, name, pairs.map { String($0[0]) }, pairs.map { String($0[1]) }])
        ).row(of: "pg_proc")
        let (names, isVoid, signature, text) = try row.decode([String].self, Bool.self, String?.self, String.self)
        guard let signature else {
            let near = names.closest(to: name).map { "; did you mean \($0)?" } ?? ""
            throw Failure(
                code: Failure.failed, "there is no function '\(function)' that this user may call\(near)")
        }
        do {
            return try await replies(to: text, isVoid: isVoid, on: connection)
        } catch let error as PostgresError where error.sqlState == "42883" || error.sqlState == "42725" {
            throw Failure(
                code: Failure.failed,
                "expected \(schema).\(name)(\(signature)), got \(arguments.joined(separator: " "))")
        }
    }

    private func replies(to call: String, isVoid: Bool, on connection: Connection) async throws -> [String] {
        if isVoid {
            try await connection.execute(Statement("select \(call)"))
            return ["done"]
        }
        let rows = try await connection.query(
            Statement(
                """
                select coalesce(case jsonb_typeof(line) when 'object' then line::text else line #>> '{}' end, 'null')
                from (select to_jsonb(reply) as line from \(call) as reply) as replies
                """))
        return try rows.column(0, as: String.self)
    }
}
