import Dispatch
import Foundation
import Synchronization

/// Writes lines to a descriptor in their order, on a thread of its own: no caller waits for a reader that has stalled.
///
/// At most 1 MiB waits, beside as much that is being written. What doesn't fit is dropped, and a line says how many were.
/// A reader that is gone or a full disk loses lines, and nothing else: no log is worth a worker.
final class LogWriter: Sendable {
    /// Standard error. When the process exits, lines that still wait are written for up to 1 s.
    static let standardError: LogWriter = {
        atexit { LogWriter.standardError.flush(within: .seconds(1)) }
        return LogWriter(descriptor: 2)
    }()

    private struct State {
        var buffer: LogBuffer
        var isWriting = false
    }

    private let descriptor: Int32
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "errand.log")

    init(descriptor: Int32, capacity: Int = 1 << 20) {
        self.descriptor = descriptor
        state = Mutex(State(buffer: LogBuffer(capacity: capacity)))
    }

    /// Returns at once.
    ///
    /// - Parameters:
    ///   - text: ends its line itself.
    ///   - notice: makes the line that says how many were dropped.
    func write(
        _ text: String,
        orSay notice: @escaping @Sendable (_ dropped: Int) -> String = { "errand: \($0) lines were dropped\n" }
    ) {
        let begins = state.withLock { state in
            state.buffer.append(text, orSay: notice)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { queue.async { self.drain() } }
    }

    /// Waits until all that was handed over before is written, or for `limit`; without one as long as it takes.
    func flush(within limit: Duration? = nil) {
        let written = DispatchSemaphore(value: 0)
        queue.async { written.signal() }
        guard let limit else { return written.wait() }
        _ = written.wait(timeout: .now() + limit / .seconds(1))
    }

    private func drain() {
        while true {
            let bytes = state.withLock { state in
                let bytes = state.buffer.take()
                state.isWriting = !bytes.isEmpty
                return bytes
            }
            if bytes.isEmpty { return }
            write(bytes)
        }
    }

    private func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process has made the shared descriptor non-blocking.
                var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&polled, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}

/// Writes a text and its end to standard error, and returns once it is written. For commands: a service must not wait for
/// the reader of its log.
func writeError(_ text: String, end: String = "\n") {
    LogWriter.standardError.write(text + end)
    LogWriter.standardError.flush()
}
