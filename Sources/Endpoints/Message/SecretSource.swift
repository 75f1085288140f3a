import Foundation
import Logging
import Synchronization

/// Where the secrets of a worker come from. Those of a file are read again when it has changed, so a secret is
/// replaced without a restart.
package final class SecretSource: Sendable {
    private struct State {
        var secrets: EndpointSecrets
        var version: Version?
        var checkedAt: ContinuousClock.Instant?
    }

    /// What changes with the content of a file, whether it was written or replaced.
    private struct Version: Hashable {
        let number: UInt64
        let size: UInt64
        let changedAt: Date?

        init?(_ path: String) {
            guard let found = try? FileManager.default.attributesOfItem(atPath: Self.resolved(path)) else { return nil }
            number = (found[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
            size = (found[.size] as? NSNumber)?.uint64Value ?? 0
            changedAt = found[.modificationDate] as? Date
        }

        /// Kubernetes replaces a folder of secrets by changing a symbolic link on the way to the file.
        private static func resolved(_ path: String) -> String {
            URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        }
    }

    private static let checkInterval: Duration = .seconds(1)

    /// Nil for secrets that don't change.
    private let path: String?
    private let logger: Logger
    private let state: Mutex<State>

    package init(_ secrets: EndpointSecrets) {
        path = nil
        logger = Logger(label: "errand.endpoints")
        state = Mutex(State(secrets: secrets))
    }

    /// - Throws: ``MalformedSecrets``; ``UnreadableSecrets`` if there is no such file.
    package init(path: String, logger: Logger) throws {
        self.path = path
        self.logger = logger
        // Before the content is read: a change in between is found by the first check.
        let version = Version(path)
        state = Mutex(State(secrets: try Self.read(path), version: version))
    }

    /// The secrets in force. A file is checked once a second. If it is missing or malformed, the secrets before stay in
    /// force, and one line is logged for each of its versions.
    package func current(at now: ContinuousClock.Instant = .now) -> EndpointSecrets {
        state.withLock { state in
            guard let path, state.checkedAt.map({ now - $0 >= Self.checkInterval }) ?? true else {
                return state.secrets
            }
            state.checkedAt = now
            let version = Version(path)
            guard version != state.version else { return state.secrets }
            state.version = version
            do {
                state.secrets = try Self.read(path)
                logger.notice("secrets of endpoints were read again")
            } catch {
                logger.error(
                    "secrets of endpoints can't be read again: those before stay in force",
                    metadata: ["error": "\(error)"])
            }
            return state.secrets
        }
    }

    private static func read(_ path: String) throws -> EndpointSecrets {
        guard let bytes = FileManager.default.contents(atPath: path) else { throw UnreadableSecrets() }
        return try EndpointSecrets(String(decoding: bytes, as: UTF8.self))
    }
}

/// There is no file of secrets, or it can't be read.
package struct UnreadableSecrets: Error, CustomStringConvertible {
    package var description: String { "expected a file of secrets, got none that can be read" }
}
