import CLibpq
import Glibc
import Synchronization

/// A thread that runs one connection's work. Without work it sleeps in poll() on the connection's socket.
///
/// libpq blocks, so it needs a thread of its own instead of Swift's shared threads. While the thread sleeps,
/// `onReadable` is called for unsolicited messages: notifications, and the end of the connection.
final class ConnectionExecutor: SerialExecutor, Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var isSleeping = false
        var isStopped = false
        var socket: Int32 = -1
        var onReadable: (@Sendable () -> Void)?
        var thread: pthread_t?
    }

    private let state = Mutex(State())
    private let event: Int32

    init() {
        event = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        var thread = pthread_t()
        let this = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread, nil,
            { pointer in
                let executor = Unmanaged<ConnectionExecutor>.fromOpaque(pointer!).takeRetainedValue()
                executor.loop()
                return nil
            }, this.toOpaque())
        // A process that can't start a thread can't go on.
        precondition(status == 0, "no thread for a database connection: errno \(status)")
        pthread_detach(thread)
    }

    deinit { Glibc.close(event) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustWake = state.withLock { state in
            state.jobs.append(job)
            defer { state.isSleeping = false }
            return state.isSleeping
        }
        if mustWake { wake() }
    }

    /// Has the thread watch this socket while it sleeps; -1 watches none.
    func watch(socket: Int32, onReadable: (@Sendable () -> Void)?) {
        state.withLock { state in
            state.socket = socket
            state.onReadable = onReadable
        }
    }

    /// Ends the thread once its queue is empty.
    func stop() {
        state.withLock { $0.isStopped = true }
        wake()
    }

    func checkIsolated() {
        // The poll callback runs on this thread, but outside of any Swift job.
        precondition(isIsolatingCurrentContext() == true, "not on the connection's thread")
    }

    func isIsolatingCurrentContext() -> Bool? {
        state.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = Glibc.write(event, &one, 8)
    }

    private func loop() {
        state.withLock { $0.thread = pthread_self() }
        while true {
            let (jobs, socket, onReadable, isStopped) = state.withLock { state in
                let jobs = state.jobs
                state.jobs = []
                state.isSleeping = jobs.isEmpty
                return (jobs, state.socket, state.onReadable, state.isStopped)
            }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
            guard jobs.isEmpty else { continue }
            if isStopped { return }
            var polled = [
                pollfd(fd: event, events: Int16(POLLIN), revents: 0),
                pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            ]
            poll(&polled, 2, -1)
            if polled[0].revents != 0 {
                var count: UInt64 = 0
                _ = Glibc.read(event, &count, 8)
            }
            if polled[1].revents != 0 { onReadable?() }
        }
    }
}
