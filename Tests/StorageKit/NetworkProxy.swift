import Foundation
import Synchronization

/// A TCP proxy on loopback before a server's Unix socket. It simulates a bad network, and knows no protocol.
package final class NetworkProxy: Sendable {
    /// What all connections share.
    package struct Link: Sendable {
        /// From one end to the other, in each direction.
        var delay: Duration
        /// In each direction, over all connections; nil is no bound.
        var bytesPerSecond: Int?

        package init(delay: Duration = .zero, bytesPerSecond: Int? = nil) {
            self.delay = delay
            self.bytesPerSecond = bytesPerSecond
        }
    }

    /// What happens to one direction of a connection.
    package enum Fault: Sendable {
        case none
        /// Both ends are reset once so many bytes have passed, also in the middle of a message.
        case reset(after: Int)
        /// These bytes come in between once so many have passed.
        case garbage([UInt8], after: Int)
        /// Each byte comes alone, after this delay.
        case trickle(Duration)
    }

    /// What happens to a connection.
    package struct Fate: Sendable {
        var toServer: Fault
        var toClient: Fault
        /// The time after which both ends are reset, whether the connection is busy or idle; nil is never.
        var life: Duration?

        package init(toServer: Fault = .none, toClient: Fault = .none, life: Duration? = nil) {
            self.toServer = toServer
            self.toClient = toClient
            self.life = life
        }
    }

    /// How many connections each has happened to, of those that are over.
    package struct Counts: Sendable {
        /// Open ones are counted too.
        package var connections = 0
        package var resets = 0
        package var garbage = 0
        package var trickles = 0
        package var bytesToClients = 0
    }

    private struct State {
        var counts = Counts()
        var isStopped = false
        /// When the link has sent all that it has accepted, by direction.
        var isFree: [ContinuousClock.Instant] = [.now, .now]
    }

    package let port: Int
    private let listener: Int32
    private let path: String
    private let link: Link
    private let fate: @Sendable (_ connection: Int) -> Fate
    private let state = Mutex(State())

    /// Starts to listen on a free port.
    ///
    /// - Parameters:
    ///   - path: the server's Unix socket.
    ///   - fate: of each connection, counted from 1.
    package init(
        to path: String, link: Link = Link(), fate: @escaping @Sendable (_ connection: Int) -> Fate = { _ in Fate() }
    ) throws {
        self.path = path
        self.link = link
        self.fate = fate
        (listener, port) = try Socket.listen(on: 0)
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                Thread.detachNewThread { self.serve(client) }
            }
        }
    }

    package var counts: Counts { state.withLock(\.counts) }

    /// Refuses connections from now on, and closes all within 0.1 s.
    package func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        guard isFirst else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }
}

// MARK: - A connection
extension NetworkProxy {
    private func serve(_ client: Int32) {
        let number = state.withLock { state in
            state.counts.connections += 1
            return state.counts.connections
        }
        guard let server = Socket.descriptor(connectedTo: path) else {
            reset(client)
            return
        }
        var one: Int32 = 1
        setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        let fate = fate(number)
        let toServer = Stream(from: client, to: server, fault: fate.toServer)
        let toClient = Stream(from: server, to: client, fault: fate.toClient)
        let isWhole = pass(toServer, toClient, until: fate.life.map { .now + $0 })
        close(server)
        if isWhole { close(client) } else { reset(client) }
        count(toServer, toClient, isWhole)
    }

    /// Returns whether both ends have closed the connection.
    private func pass(_ toServer: Stream, _ toClient: Stream, until end: ContinuousClock.Instant?) -> Bool {
        while !state.withLock(\.isStopped) {
            let now = ContinuousClock.now
            if let end, end <= now { return false }
            guard toServer.write(at: now), toClient.write(at: now) else { return false }
            if toServer.isOver, toClient.isOver { return true }
            var polled = [
                pollfd(fd: toServer.from, events: toServer.readEvents | toClient.writeEvents, revents: 0),
                pollfd(fd: toClient.from, events: toClient.readEvents | toServer.writeEvents, revents: 0),
            ]
            // A socket without events would report its end again and again.
            for index in polled.indices where polled[index].events == 0 { polled[index].fd = -1 }
            let next = [toServer.nextDue, toClient.nextDue, end].compactMap(\.self).min()
            wait(&polled, atMost: next.map { $0 - now } ?? .seconds(1))
            for (index, direction) in [0, 1].enumerated() where polled[index].revents != 0 {
                let isRead = index == 0 ? read(toServer, direction) : read(toClient, direction)
                guard isRead else { return false }
            }
        }
        return false
    }

    private func wait(_ polled: inout [pollfd], atMost limit: Duration) {
        let microseconds = max(0, limit / .microseconds(1))
        // poll() is too coarse for a trickle.
        if microseconds < 1000 { usleep(UInt32(microseconds)) }
        poll(&polled, 2, microseconds < 1000 ? 0 : Int32(min(100, microseconds / 1000)))
    }

    /// Returns false if the connection has broken.
    private func read(_ stream: Stream, _ direction: Int) -> Bool {
        guard stream.readEvents != 0 else { return true }
        guard let bytes = stream.read() else { return false }
        let sent = state.withLock { state in
            if direction == 1 { state.counts.bytesToClients += bytes.count }
            let start = max(.now, state.isFree[direction])
            let took = link.bytesPerSecond.map { Duration.seconds(1) * (Double(bytes.count) / Double($0)) } ?? .zero
            state.isFree[direction] = start + took
            return start + took
        }
        stream.accept(bytes, at: sent + link.delay)
        return true
    }

    private func count(_ toServer: Stream, _ toClient: Stream, _ isWhole: Bool) {
        state.withLock { state in
            if !isWhole { state.counts.resets += 1 }
            for stream in [toServer, toClient] where stream.isHit {
                switch stream.fault {
                case .none, .reset: break
                case .garbage: state.counts.garbage += 1
                case .trickle: state.counts.trickles += 1
                }
            }
        }
    }

    private func reset(_ client: Int32) {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(client, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        close(client)
    }
}

// MARK: - A direction
/// One direction of a connection: what was read, and when it arrives.
private final class Stream {
    let from: Int32
    private let to: Int32
    let fault: NetworkProxy.Fault
    /// Whether the fault has happened.
    private(set) var isHit = false
    private var pieces: [(due: ContinuousClock.Instant, bytes: ArraySlice<UInt8>)] = []
    private var pending = 0
    private var passed = 0
    private var isBlocked = false
    private var hasEnded = false
    private var isShut = false
    private var breaks = false

    init(from: Int32, to: Int32, fault: NetworkProxy.Fault) {
        self.from = from
        self.to = to
        self.fault = fault
    }

    var isOver: Bool { isShut }

    /// When there is something to write; nil if the other end must read first.
    var nextDue: ContinuousClock.Instant? { isBlocked ? nil : pieces.first?.due }

    /// Little is on its way, so that connections share a slow link equally.
    var readEvents: Int16 { hasEnded || breaks || pending > 16_384 ? 0 : Int16(POLLIN) }

    var writeEvents: Int16 { isBlocked ? Int16(POLLOUT) : 0 }

    /// Reads what is there: empty at the end, nil after an error.
    func read() -> [UInt8]? {
        let size = 1460
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            count = recv(from, buffer.baseAddress, size, Int32(MSG_DONTWAIT))
            initialized = max(0, count)
        }
        if count < 0 { return errno == EAGAIN || errno == EINTR ? [] : nil }
        hasEnded = count == 0
        return bytes
    }

    /// Has the bytes arrive at `due`, and the fault happen to them.
    func accept(_ bytes: [UInt8], at due: ContinuousClock.Instant) {
        guard !bytes.isEmpty else { return }
        defer { passed += bytes.count }
        switch fault {
        case .none: add(bytes[...], due)
        case .reset(let offset):
            breaks = passed + bytes.count >= offset
            add(bytes.prefix(breaks ? max(0, offset - passed) : bytes.count), due)
        case .garbage(let garbage, let offset):
            guard passed <= offset, offset < passed + bytes.count else { return add(bytes[...], due) }
            isHit = true
            add(bytes.prefix(offset - passed) + garbage + bytes.dropFirst(offset - passed), due)
        case .trickle(let delay):
            isHit = true
            for index in bytes.indices {
                add(bytes[index...index], max(due, pieces.last?.due ?? due) + delay)
            }
        }
    }

    private func add(_ bytes: ArraySlice<UInt8>, _ due: ContinuousClock.Instant) {
        guard !bytes.isEmpty else { return }
        pieces.append((due, bytes))
        pending += bytes.count
    }

    /// Writes what is due. Returns false if the connection breaks.
    func write(at now: ContinuousClock.Instant) -> Bool {
        isBlocked = false
        var written = 0
        defer { pieces.removeFirst(written) }
        while written < pieces.count, pieces[written].due <= now {
            let bytes = pieces[written].bytes
            let sent = bytes.withUnsafeBytes {
                send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            guard sent >= 0 else {
                isBlocked = errno == EAGAIN
                return isBlocked || errno == EINTR
            }
            pending -= sent
            guard sent == bytes.count else {
                pieces[written].bytes = bytes.dropFirst(sent)
                continue
            }
            written += 1
        }
        guard written == pieces.count else { return true }
        if hasEnded, !isShut {
            isShut = true
            shutdown(to, Int32(SHUT_WR))
        }
        return !breaks
    }
}
