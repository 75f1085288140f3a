import Foundation
import Postgres

/// The output of psql for a script, run as the role; nil is the database's owner.
///
/// - Parameter configuration: of the test's database, without a pooler: the role is set in `options`, which poolers
///   refuse.
package func psql(_ script: String, of configuration: PostgresConfiguration, as role: String? = nil) throws -> String {
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
    // A script may be larger than the pipe's buffer; psql prints little before it has read all.
    try input.fileHandleForWriting.write(contentsOf: Data(script.utf8))
    try input.fileHandleForWriting.close()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: text, as: UTF8.self)
}
