import CProcess
import Foundation
import Logging
import Web

/// What systemd hears of this process, by sd_notify(3): that it is ready, lives and ends.
struct ServiceManager {
    private let socket: String
    /// How often it wants to hear that the process lives; nil if it doesn't.
    let interval: Duration?
    private let logger: Logger

    /// - Parameter variables: of the environment. Those of another process, which it started with, are ignored.
    init?(_ variables: [String: String] = ProcessInfo.processInfo.environment, logger: Logger) {
        guard let socket = variables["NOTIFY_SOCKET"], !socket.isEmpty else { return nil }
        self.socket = socket
        self.logger = logger
        let isOurs = variables["WATCHDOG_PID"].map { $0 == "\(ProcessInfo.processInfo.processIdentifier)" } ?? true
        // Twice as often as it asks for.
        interval = isOurs ? variables["WATCHDOG_USEC"].flatMap { Int64($0) }.map { .microseconds($0 / 2) } : nil
    }

    /// Says that the process is ready, once it is, and then that it lives, until its task is cancelled.
    func tell(of checks: [ReadinessCheck]) async {
        let readiness = Readiness(checks: checks)
        do {
            while await !readiness.report().isReady { try await Task.sleep(for: .milliseconds(200)) }
            tell("READY=1\nSTATUS=ready")
            guard let interval else { return }
            while true {
                try await Task.sleep(for: interval)
                tell("WATCHDOG=1")
            }
        } catch {
            // Cancelled: the process ends.
        }
    }

    func tellEnd() { tell("STOPPING=1\nSTATUS=ends what runs") }

    private func tell(_ text: String) {
        let failure = process_notify(socket, text)
        guard failure != 0 else { return }
        logger.warning(
            "systemd can't be told of this process", metadata: ["reason": "\(String(cString: strerror(failure)))"])
    }
}
