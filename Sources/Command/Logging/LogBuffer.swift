/// Buffers lines up to a number of bytes. Further lines are dropped and counted.
struct LogBuffer {
    private let capacity: Int
    private var bytes: [UInt8] = []
    private var dropped = 0
    /// The line that says how many were dropped.
    private var notice: ((Int) -> String)?

    init(capacity: Int) { self.capacity = capacity }

    /// - Parameter notice: makes the line that replaces the dropped ones.
    mutating func append(_ line: String, orSay notice: @escaping (Int) -> String) {
        guard dropped == 0, bytes.count + line.utf8.count <= capacity else {
            dropped += 1
            self.notice = notice
            return
        }
        bytes += line.utf8
    }

    /// Takes all that is to be written now; empty if nothing is.
    mutating func take() -> [UInt8] {
        defer {
            bytes = []
            dropped = 0
            notice = nil
        }
        return bytes + Array((notice?(dropped) ?? "").utf8)
    }
}
