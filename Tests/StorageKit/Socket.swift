import Foundation

/// A TCP connection on loopback with blocking reads and writes.
final class Socket: Sendable {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Connects; nil if the port has no listener.
    init?(port: Int) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(port)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return nil }
    }

    /// A connection to a Unix socket; nil if it has no listener.
    static func descriptor(connectedTo path: String) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard connected == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    deinit { close(descriptor) }

    struct Failure: Error {
        let number = errno
    }

    /// Listens on loopback; port 0 is a free port.
    static func listen(on port: Int, backlog: Int32 = 512) throws -> (descriptor: Int32, port: Int) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var one: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = address(port)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let respond = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard bind(listener, pointer, size) == 0, Glibc.listen(listener, backlog) == 0 else { return Int32(-1) }
                return getsockname(listener, pointer, &size)
            }
        }
        guard respond == 0 else { throw Failure() }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// A socket that has begun to connect.
    static func connecting(to port: Int) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = address(port)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return descriptor
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}

// MARK: - Reading and writing
extension Socket {
    struct Head {
        /// Includes the empty line at the end.
        let text: String
        /// The part of the body that was read with the head.
        let rest: [UInt8]
    }

    /// The received bytes; empty at the end.
    func read() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            count = max(0, Glibc.read(descriptor, buffer.baseAddress, 65_536))
        }
    }

    func readAll() -> [UInt8] {
        var all: [UInt8] = []
        while case let piece = read(), !piece.isEmpty { all += piece }
        return all
    }

    func readHead() -> Head? {
        var all: [UInt8] = []
        while case let piece = read(), !piece.isEmpty {
            all += piece
            if let end = all.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
                return Head(text: String(decoding: all[..<end], as: UTF8.self), rest: Array(all[end...]))
            }
        }
        return nil
    }

    func readBody(after head: Head) -> [UInt8]? {
        let line = head.text.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
        let length = line.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
        var body = head.rest
        while body.count < length {
            let piece = read()
            if piece.isEmpty { return nil }
            body += piece
        }
        return body
    }

    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let sent = bytes.withUnsafeBytes {
                send(descriptor, $0.baseAddress! + offset, bytes.count - offset, Int32(MSG_NOSIGNAL))
            }
            if sent <= 0 { return false }
            offset += sent
        }
        return true
    }

    /// Breaks the connection with a reset.
    func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }
}

/// Whether a port of loopback has a listener.
package func isListening(on port: Int) -> Bool { Socket(port: port) != nil }

/// A port of loopback without a listener.
package func freePort() throws -> Int {
    let (descriptor, port) = try Socket.listen(on: 0)
    close(descriptor)
    return port
}
