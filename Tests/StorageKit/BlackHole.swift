import Foundation

/// A port of loopback that doesn't respond to a connect, like a host behind a firewall: its queue is full.
package final class BlackHole: Sendable {
    package let port: Int
    private let descriptors: [Int32]

    package init() throws {
        let (listener, port) = try Socket.listen(on: 0, backlog: 0)
        self.port = port
        var opened = [listener]
        for _ in 0..<4 { opened.append(Socket.connecting(to: port)) }
        descriptors = opened
        // The last connects are still being accepted when the first ones are done.
        usleep(100_000)
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
