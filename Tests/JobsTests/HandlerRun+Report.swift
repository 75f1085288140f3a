import Errand
import ErrandTestKit

extension HandlerRun {
    /// The output of the run.
    func report<Report: Decodable>() throws -> Report {
        guard case .done(let output?) = outcome else { throw UnmetReport(outcome: "\(self)") }
        return try output.decode(Report.self)
    }
}

/// A run with another output.
private struct UnmetReport: Error {
    let outcome: String
}
