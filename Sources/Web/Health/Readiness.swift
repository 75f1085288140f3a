import Postgres

/// Something that a process needs.
package struct ReadinessCheck: Sendable {
    let name: String
    /// Whether the process is not ready without it. Otherwise only some of its jobs wait.
    let isRequired: Bool
    /// The one of several databases that it is about; nil if it is about the process, or its only database.
    private(set) var cell: String?
    let state: @Sendable () async throws -> String?

    /// - Parameters:
    ///   - isRequired: whether the process is not ready without it.
    ///   - isPassed: returns if the process has what it needs, and throws the reason if not.
    package init(
        _ name: String, isRequired: Bool = true, _ isPassed: @escaping @Sendable () async throws -> Void
    ) {
        self.name = name
        self.isRequired = isRequired
        state = {
            try await isPassed()
            return nil
        }
    }

    /// A check that says what the process has.
    ///
    /// - Parameters:
    ///   - isRequired: whether the process is not ready without it.
    ///   - state: returns what it has, in a few words, and throws the reason if it lacks what it needs.
    package static func showing(
        _ name: String, isRequired: Bool = true, _ state: @escaping @Sendable () async throws -> String
    ) -> ReadinessCheck {
        ReadinessCheck(name: name, isRequired: isRequired, state: state)
    }

    /// The same, about one of several databases: the process is ready without it if it has another.
    package func of(cell: String?) -> ReadinessCheck {
        var copy = self
        copy.cell = cell
        return copy
    }

    /// As the report shows it.
    fileprivate var title: String { [cell, name].compactMap(\.self).joined(separator: " ") }

    private init(name: String, isRequired: Bool, state: @escaping @Sendable () async throws -> String?) {
        self.name = name
        self.isRequired = isRequired
        self.state = state
    }
}

/// Why a check failed.
package struct NotReady: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// All checks of a process, run concurrently.
package struct Readiness: Sendable {
    let checks: [ReadinessCheck]
    /// A check that takes longer has failed, so that a probe gets its response before its own timeout.
    let limit: Duration

    /// The same for what the process is ready without, so that it never costs a probe its response.
    var optionalLimit: Duration = .milliseconds(500)

    package init(checks: [ReadinessCheck], limit: Duration = .seconds(2)) {
        (self.checks, self.limit) = (checks, limit)
    }

    package struct Report: Sendable, Hashable {
        package let isReady: Bool
        /// One line per check, in order: `ok database`, `ok lease: worker 7`, `failed database: …`, or `degraded
        /// storage: …` if the process is ready without it. Checks of one of several databases begin with its name.
        let text: String
    }

    package func report() async -> Report {
        let results = await withTaskGroup(of: (Int, Result<String?, NotReady>).self) { group in
            for (index, check) in checks.enumerated() {
                group.addTask { (index, await result(of: check)) }
            }
            return await group.reduce(into: [Int: Result<String?, NotReady>]()) { $0[$1.0] = $1.1 }
        }
        let missing = Set(
            checks.indices.filter { index in
                guard checks[index].isRequired, case .failure? = results[index] else { return false }
                return true
            })
        let isCellReady = hasCell(without: missing)
        let isReady = isCellReady && missing.allSatisfy { checks[$0].cell != nil }
        var text = ""
        for (index, check) in checks.enumerated() {
            switch results[index] {
            case .success(let state): text += "ok \(check.title)\(state.map { ": \($0)" } ?? "")\n"
            case .failure(let reason):
                let isMissed = check.isRequired && (check.cell == nil || !isCellReady)
                text += "\(isMissed ? "failed" : "degraded") \(check.title): \(reason)\n"
            case nil: break
            }
        }
        return Report(isReady: isReady, text: text)
    }

    /// Whether the process has all that one of its databases needs, or has only one.
    private func hasCell(without missing: Set<Int>) -> Bool {
        let all = Set(checks.compactMap(\.cell))
        return all.isEmpty || !all.isSubset(of: missing.compactMap { checks[$0].cell })
    }

    private func result(of check: ReadinessCheck) async -> Result<String?, NotReady> {
        let result = await within(check.isRequired ? limit : min(limit, optionalLimit)) {
            () -> Result<String?, NotReady> in
            do {
                return .success(try await check.state())
            } catch {
                // One line, without the details for logs: those of the database name its host and user to anybody.
                let words = ((error as? PostgresError)?.summary ?? "\(error)").split(whereSeparator: \.isWhitespace)
                return .failure(NotReady(words.joined(separator: " ")))
            }
        }
        return result ?? .failure(NotReady("no result in time"))
    }
}
