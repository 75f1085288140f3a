@testable import Errand

extension SchedulerLoop {
    /// Until nothing is due.
    mutating func tickAll() async throws {
        while try await tick() == .zero {}
    }
}
