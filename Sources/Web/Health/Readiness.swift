/// One thing that has to hold for a process to be of use.
package struct ReadinessCheck: Sendable {
    let name: String
    let isPassed: @Sendable () async throws -> Void

    /// - Parameter isPassed: returns where it holds; throws what says why not.
    package init(_ name: String, _ isPassed: @escaping @Sendable () async throws -> Void) {
        self.name = name
        self.isPassed = isPassed
    }
}

/// Why a check failed, where no error of somebody else's says it.
package struct NotReady: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// All checks of a process, made at the same time.
struct Readiness: Sendable {
    let checks: [ReadinessCheck]
    /// A check that takes longer has failed: whoever asks must hear before it gives up itself.
    var limit: Duration = .seconds(2)

    struct Answer: Sendable, Hashable {
        let isReady: Bool
        /// A line a check, in their order: `ok database` or `failed database: …`.
        let text: String
    }

    func answer() async -> Answer {
        let failures = await withTaskGroup(of: (Int, String?).self) { group in
            for (place, check) in checks.enumerated() {
                group.addTask { (place, await failure(of: check)) }
            }
            return await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
        }
        let lines = checks.enumerated().map { place, check in
            failures[place].map { "failed \(check.name): \($0)\n" } ?? "ok \(check.name)\n"
        }
        return Answer(isReady: failures.isEmpty, text: lines.joined())
    }

    private func failure(of check: ReadinessCheck) async -> String? {
        let answer: String?? = await within(limit) {
            do {
                try await check.isPassed()
                return nil
            } catch {
                // In one line, and without what an error keeps for logs.
                return "\(error)".split(whereSeparator: \.isWhitespace).joined(separator: " ")
            }
        }
        return answer ?? "no answer within \(limit)"
    }
}
