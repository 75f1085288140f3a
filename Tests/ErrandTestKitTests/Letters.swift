import Errand
import Synchronization

/// A letter to be sent, for the tests of the kit.
struct Letter: Job, Hashable {
    static let kind: JobKind = "letter"
    static let policy = JobPolicy(queue: "mail", priority: 3, retry: .exponential(attempts: 3))
    var to: String
}

/// Does with a letter what the test says.
struct LetterHandler: JobHandler {
    let body: @Sendable (Letter, JobContext) async throws -> Outcome

    func run(_ job: Letter, in context: JobContext) async throws -> Outcome { try await body(job, context) }
}

/// An error that says what it was told.
struct Refused: ClassifiedError, CustomStringConvertible {
    var isPermanent = false
    var description: String { "refused" }
}

/// What was done, by several tasks.
final class Log: Sendable {
    private let entries = Mutex<[String]>([])

    var all: [String] { entries.withLock(\.self) }

    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
}
