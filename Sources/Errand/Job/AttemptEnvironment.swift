import Logging
import Postgres
import Tracing
import Waiting

/// The parts of a worker that its attempts use.
package final class AttemptEnvironment: Sendable {
    /// For the handlers' own reads and writes.
    package let database: Database
    package let handlers: Handlers
    let registered: RegisteredHandlers
    let logger: Logger
    /// In bytes.
    let memory: AsyncSemaphore
    package let progress = ProgressBuffer()
    let commits: any CommitTickets
    /// Nil if nobody collects traces.
    let tracer: (any Tracer)?

    /// - Parameter memory: bytes that attempts may take together.
    package init(
        database: Database, handlers: Handlers, registered: RegisteredHandlers = RegisteredHandlers(),
        memory: AsyncSemaphore, commits: any CommitTickets, logger: Logger
    ) {
        self.database = database
        self.handlers = handlers
        self.registered = registered
        self.memory = memory
        self.commits = commits
        tracer = InstrumentationSystem.tracerIfAny
        self.logger = logger
    }
}

/// An open transaction that completes jobs.
package struct CommitTicket: Hashable, Sendable {
    let number: Int
}

/// Tracks the transactions that complete jobs, so that uncounted ones of a killed process are found:
/// ``CountedTransactions``.
package protocol CommitTickets: Sendable {
    /// Call before a transaction begins that completes jobs.
    func begin() -> CommitTicket

    /// Call once its completions are counted, or it has failed.
    func end(_ ticket: CommitTicket)
}
