import Dispatch
import Foundation
import Synchronization

/// Writes lines to a descriptor in order, on a thread of its own: no caller waits for a stalled reader.
///
/// At most 1 MiB waits, in addition to the bytes that are being written. Further lines are dropped, and a line has
/// their number. A
/// closed reader or a full disk loses lines, but never stops a worker.
final class LogWriter: Sendable {
    /// Standard error. At exit, waiting lines are written for up to 1 s.
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
    ///   - text: text with its line end.
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

    /// Waits until all earlier lines are written, or for `limit`.
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

/// Writes a text to standard error, and returns once it is written. For commands only: a service must not wait for the
/// reader of its log.
func writeError(_ text: String, end: String = "\n") {
    LogWriter.standardError.write(text + end)
    LogWriter.standardError.flush()
}
