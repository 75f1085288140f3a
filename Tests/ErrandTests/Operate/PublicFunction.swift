import Postgres

/// A function that people or applications call, as the catalog has it.
struct PublicFunction {
    struct Argument {
        let name: String
        let type: String
        let hasDefault: Bool
    }

    let name: String
    let arguments: [Argument]
    /// Whether it may change something.
    let isVolatile: Bool

    /// All that a role may call, but for those with a version in their name, which are for programs.
    static func all(of role: String, in database: Database) async throws -> [PublicFunction] {
        let rows = try await database.query(
            Statement(
                """
                select pronamespace::regnamespace || '.' || proname, coalesce(proargnames[1:pronargs], '{}'),
                    array(select format_type(type, null) from unnest(proargtypes::oid[]) with ordinality as given(type, index)
                        order by index), pronargdefaults::int,
                    provolatile = 'v'
                from pg_proc
                where pronamespace = any (errand_internal.namespaces()) and proname !~ '_v[0-9]+$'
                    and has_function_privilege($1, oid, 'execute')
                order by 1, oid
                """, [role]))
        return try rows.map { row in
            let (name, names, types, defaults, isVolatile) = try row.decode(
                String.self, [String].self, [String].self, Int.self, Bool.self)
            let arguments = zip(names, types).enumerated().map { index, argument in
                Argument(name: argument.0, type: argument.1, hasDefault: index >= names.count - defaults)
            }
            return PublicFunction(name: name, arguments: arguments, isVolatile: isVolatile)
        }
    }

    /// A call with these expressions for arguments by their names. Others are left to their defaults, or get a sample
    /// of their type.
    func call(with given: [String: String]) -> String {
        let values = arguments.compactMap { argument in
            given[argument.name].map { "\(argument.name) => \($0)" }
                ?? (argument.hasDefault ? nil : "\(argument.name) => \(Self.sample(of: argument.type))")
        }
        return "select \(name)(\(values.joined(separator: ", ")))"
    }

    private static func sample(of type: String) -> String {
        switch type {
        case "text": "'x'"
        case "jsonb": "'{}'"
        case "boolean": "false"
        case "uuid": "gen_random_uuid()"
        case "interval": "interval '1 hour'"
        case "bytea": "'x'"
        case "date", "timestamp with time zone", "time without time zone": "'2026-11-21 08:00Z'::\(type)"
        case let array where array.hasSuffix("[]"): "'{1}'::\(array)"
        default: "1"
        }
    }
}
