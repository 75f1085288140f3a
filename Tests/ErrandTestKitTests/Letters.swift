import Errand
import Synchronization

/// A letter to be sent, for the tests of the kit.
struct Letter: Job, Hashable {
    static let kind: JobKind = "letter"
    static let policy = JobPolicy(queue: "mail", priority: 3, retry: .exponential(attempts: 3))
    var to: String
}

/// Handles a letter with a closure of the test.
struct LetterHandler: JobHandler {
    let body: @Sendable (Letter, JobContext) async throws -> Outcome

    func run(_ job: Letter, in context: JobContext) async throws -> Outcome { try await body(job, context) }
}

/// An error with a given description.
struct Refused: ClassifiedError, CustomStringConvertible {
    var isPermanent = false
    var description: String { "refused" }
}

/// A record that several tasks write.
final class Log: Sendable {
    private let entries = Mutex<[String]>([])

    var all: [String] { entries.withLock(\.self) }

    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
}
