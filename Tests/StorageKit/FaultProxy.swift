import Foundation
import Synchronization

/// A scripted HTTP proxy on loopback before a real server. It simulates faults between a client and an object
/// store.
///
/// Each request has its own connection. Signed parts pass unchanged, so the server checks them.
package final class FaultProxy: Sendable {
    /// The fate of a request.
    package enum Fault: Sendable {
        /// The request reaches the server, and the response comes back.
        case none
        /// The request doesn't reach the server.
        case respond(Int, code: String)
        /// The request doesn't reach the server: the response is 200 with the closure's result. The closure may block.
        case serve(@Sendable ([UInt8]) -> String)
        /// The server executes it, and its response is lost.
        case loseResponse
        /// The server executes it, and its response never comes; the connection stays open.
        case delayResponse
        /// The server executes it, and its response comes if the closure returns true. The closure may block.
        case executeAnd(@Sendable () -> Bool)
        /// The server gets half of the body, and the connection breaks on both sides.
        case cutBody
        /// The connection breaks before the request is read.
        case reset
        /// The request is read, and there is no response.
        case stall
        /// The server executes it, and its response comes at this many bytes per second.
        case trickle(Int)
        /// The request reaches the server, whose response is delayed.
        case delay(Duration)
    }

    package struct Request: Sendable {
        package let method: String
        /// Includes the query.
        package let path: String
        /// Counted from 1 over all requests.
        package let number: Int
        package let at: ContinuousClock.Instant
    }

    private struct State {
        var listener: Int32 = -1
        var requests: [Request] = []
        var connections = 0
        var held = 0
    }

    package let port: Int
    private let upstream: Int
    private let script: @Sendable (Request) -> Fault
    private let state = Mutex(State())

    /// Starts to listen on a free port.
    ///
    /// - Parameter upstream: the server's port on loopback.
    package init(to upstream: Int, _ script: @escaping @Sendable (Request) -> Fault = { _ in .none }) throws {
        self.upstream = upstream
        self.script = script
        let (listener, port) = try Socket.listen(on: 0)
        self.port = port
        state.withLock { $0.listener = listener }
        serve(listener)
    }

    deinit { stop() }

    /// All requests so far, in the order of their arrival.
    package var requests: [Request] { state.withLock(\.requests) }

    /// The number of accepted connections.
    package var connections: Int { state.withLock(\.connections) }

    /// The number of the server's responses that the proxy holds back.
    package var held: Int { state.withLock(\.held) }

    /// Refuses connections from now on.
    package func stop() {
        let listener = state.withLock { state in
            defer { state.listener = -1 }
            return state.listener
        }
        guard listener >= 0 else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Accepts connections again, on the same port.
    package func start() throws {
        let (listener, _) = try Socket.listen(on: port)
        state.withLock { $0.listener = listener }
        serve(listener)
    }

    private func serve(_ listener: Int32) {
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let proxy = self else { return }
                proxy.state.withLock { $0.connections += 1 }
                Thread.detachNewThread {
                    proxy.handle(Socket(client))
                }
            }
        }
    }

    private func handle(_ client: Socket) {
        guard let head = client.readHead() else { return }
        let words = head.text.split(separator: "\r\n").first.map { $0.split(separator: " ") } ?? []
        guard words.count == 3 else { return }
        let request = state.withLock { state in
            let request = Request(
                method: String(words[0]), path: String(words[1]), number: state.requests.count + 1, at: .now)
            state.requests.append(request)
            return request
        }
        let fault = script(request)
        if case .reset = fault { return client.reset() }
        guard let body = client.readBody(after: head) else { return }
        switch fault {
        case .none: pass(head, body, client)
        case .reset: break
        case .respond(let status, let code):
            client.respond(status, "<Error><Code>\(code)</Code><Message>as the script says</Message></Error>")
        case .serve(let serve): client.respond(200, serve(body))
        case .loseResponse:
            _ = ask(head, body)
            client.reset()
        case .executeAnd(let responds):
            let response = ask(head, body)
            if responds() { client.write(response) } else { client.reset() }
        case .delayResponse:
            _ = ask(head, body)
            state.withLock { $0.held += 1 }
            _ = client.read()
        case .cutBody:
            if let server = Socket(port: upstream) {
                server.write(Self.closing(head.text))
                server.write(Array(body.prefix(body.count / 2)))
                usleep(20_000)
                server.reset()
            }
            client.reset()
        case .stall: _ = client.read()
        case .trickle(let rate):
            for byte in ask(head, body) {
                guard client.write([byte]) else { return }
                usleep(UInt32(1_000_000 / rate))
            }
        case .delay(let pause):
            usleep(UInt32(pause / .microseconds(1)))
            pass(head, body, client)
        }
    }

    private func pass(_ head: Socket.Head, _ body: [UInt8], _ client: Socket) { client.write(ask(head, body)) }

    private func ask(_ head: Socket.Head, _ body: [UInt8]) -> [UInt8] {
        guard let server = Socket(port: upstream) else { return [] }
        server.write(Self.closing(head.text) + body)
        return server.readAll()
    }

    /// The head with an unsigned header, so that the server closes the connection after its response.
    private static func closing(_ head: String) -> [UInt8] {
        Array(head.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n").utf8)
    }
}

extension Socket {
    fileprivate func respond(_ status: Int, _ text: String) {
        let head = "HTTP/1.1 \(status) Fault\r\nContent-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n"
        write(Array((head + text).utf8))
    }
}
