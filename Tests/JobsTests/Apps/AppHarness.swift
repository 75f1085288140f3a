import ErrandTestKit
import Foundation
import Postgres

extension Database {
    /// What a query answers, as text: columns parted by a bar, rows by line ends, null as nothing.
    func lines(_ sql: String) async throws -> [String] {
        let rows = try await query(
            Statement(
                """
                select (
                    select string_agg(coalesce(value, ''), '|' order by place)
                    from json_each_text(to_json(answer)) with ordinality as field(key, value, place)
                )
                from (\(sql)) as answer
                """))
        return try rows.column(0, as: String?.self).map { $0 ?? "" }
    }

    func number(_ sql: String) async throws -> Int {
        try await query(Statement(sql)).scalar(Int.self)
    }
}

/// What psql answers to a script, for somebody who has the role; nil is who owns the database.
///
/// - Parameter configuration: of the test's database, which is reached past a pooler: the role comes in `options`.
func psql(_ script: String, of configuration: PostgresConfiguration, as role: String? = nil) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
        "psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1",
        try TestServer.url(of: configuration, directly: true),
    ]
    process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
    if let role { process.environment?["PGOPTIONS"] = "-c role=\(role)" }
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    process.standardError = output
    try process.run()
    // A script may be longer than what a pipe holds; psql answers little before it has read all.
    try input.fileHandleForWriting.write(contentsOf: Data(script.utf8))
    try input.fileHandleForWriting.close()
    let answer = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: answer, as: UTF8.self)
}
