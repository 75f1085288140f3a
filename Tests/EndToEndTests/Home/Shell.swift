import Foundation
import Subprocess
import SystemPackage

/// Runs a script of bash and returns what it prints.
///
/// - Throws: ``ShellError`` with what it said, where it fails.
@discardableResult
func shell(_ script: String) async throws -> String {
    let result = try await Subprocess.run(
        .path("/bin/bash"), arguments: ["-c", "set -euo pipefail\n" + script],
        environment: .custom(["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]), output: .string(limit: 1 << 20),
        error: .string(limit: 1 << 20))
    guard result.terminationStatus.isSuccess else {
        throw ShellError(text: "\(script): \(result.standardError)")
    }
    return result.standardOutput
}

extension Program {
    /// Waits until it has written `text`. Returns whether it did within a minute.
    func writes(_ text: String) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(60) {
            if output.contains(text) { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}
