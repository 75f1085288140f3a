import Foundation
import Synchronization

/// A PostgreSQL server on loopback that requests each client's password in clear text, records it, and rejects it.
package final class RefusingDatabase: Sendable {
    package let port: Int
    private let listener: Int32
    private let received = Mutex<Set<String>>([])

    /// Starts to listen on a free port.
    package init() throws {
        (listener, port) = try Socket.listen(on: 0)
        Thread.detachNewThread { [weak self, listener] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let server = self else { return }
                Thread.detachNewThread { server.refuse(Socket(client)) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// The received passwords.
    package var passwords: Set<String> { received.withLock { $0 } }

    private func refuse(_ client: Socket) {
        // A client that requests encryption first (SSLRequest 80877103, GSSENCRequest 80877104) is told that there is
        // none.
        while case let start = client.read(), !start.isEmpty {
            let code = start.dropFirst(4).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            if start.count == 8, code == 80_877_103 || code == 80_877_104 {
                client.write(Array("N".utf8))
                continue
            }
            // AuthenticationCleartextPassword.
            client.write([0x52, 0, 0, 0, 8, 0, 0, 0, 3])
            let respond = client.read()
            guard respond.first == 0x70 else { return }
            received.withLock { _ = $0.insert(String(decoding: respond.dropFirst(5).dropLast(), as: UTF8.self)) }
            client.write(Self.refusal)
            return
        }
    }

    /// PostgreSQL's ErrorResponse.
    private static let refusal: [UInt8] = {
        var body: [UInt8] = []
        for field in ["SFATAL", "VFATAL", "C28P01", "Mpassword authentication failed for user \"errand\""] {
            body += Array(field.utf8)
            body.append(0)
        }
        body.append(0)
        return [0x45, 0, 0, 0, UInt8(body.count + 4)] + body
    }()
}
