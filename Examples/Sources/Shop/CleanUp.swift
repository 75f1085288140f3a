import Errand
import Logging

public struct CleanUp: Job {
    public static let kind: JobKind = "clean_up"

    public init() {}
}

public struct CleanUpHandler: JobHandler {
    let remove: @Sendable () async throws -> Bool

    public init(remove: @escaping @Sendable () async throws -> Bool) { self.remove = remove }

    public func run(_ job: CleanUp, in context: JobContext) async throws -> Outcome {
        do {
            while try await remove() { try Task.checkCancellation() }
            return .done
        } catch is CancellationError {
            switch context.interruption {
            case .deadline: context.logger.warning("too much for one attempt: the next goes on")
            case .shutdown: context.logger.info("the worker stops: another one goes on, and no attempt is counted")
            case .cancelled, .leaseLost, nil: break
            }
            throw CancellationError()
        }
    }
}
