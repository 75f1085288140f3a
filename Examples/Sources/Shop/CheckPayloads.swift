import Errand
import Foundation

/// Ends the program: with 1 if a job waits whose payload the handlers of this version can't decode.
public func checkPayloads(of handlers: Handlers, on database: Database) async throws -> Never {
    let report = try await handlers.readPayloads(on: database)
    for found in report.unreadable {
        print("\(found.kind): \(found.jobs) jobs, such as \(found.example): \(found.reason)")
    }
    exit(report.unreadable.isEmpty ? 0 : 1)
}
