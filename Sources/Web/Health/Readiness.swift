/// A condition for a process to be ready.
package struct ReadinessCheck: Sendable {
    let name: String
    let isPassed: @Sendable () async throws -> Void

    /// - Parameter isPassed: returns if the condition holds, and throws the reason if not.
    package init(_ name: String, _ isPassed: @escaping @Sendable () async throws -> Void) {
        self.name = name
        self.isPassed = isPassed
    }
}

/// Why a check failed.
package struct NotReady: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// All checks of a process, run concurrently.
struct Readiness: Sendable {
    let checks: [ReadinessCheck]
    /// A check that takes longer has failed, so that a probe gets its response before its own timeout.
    var limit: Duration = .seconds(2)

    struct Report: Sendable, Hashable {
        let isReady: Bool
        /// One line per check, in order: `ok database` or `failed database: …`.
        let text: String
    }

    func report() async -> Report {
        let failures = await withTaskGroup(of: (Int, String?).self) { group in
            for (index, check) in checks.enumerated() {
                group.addTask { (index, await failure(of: check)) }
            }
            return await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
        }
        let lines = checks.enumerated().map { index, check in
            failures[index].map { "failed \(check.name): \($0)\n" } ?? "ok \(check.name)\n"
        }
        return Report(isReady: failures.isEmpty, text: lines.joined())
    }

    private func failure(of check: ReadinessCheck) async -> String? {
        let report: String?? = await within(limit) {
            do {
                try await check.isPassed()
                return nil
            } catch {
                // One line, without the details for logs.
                return "\(error)".split(whereSeparator: \.isWhitespace).joined(separator: " ")
            }
        }
        return report ?? "no result within \(limit)"
    }
}
