import Foundation
import Testing

@testable import Command

@Suite("Writing the log") struct LogWriterTests {
    @Test("lines beyond the bound are dropped, and a line has their number")
    func bounded() {
        var buffer = LogBuffer(capacity: 8)
        for line in ["one\n", "two\n", "three\n", "4\n"] { buffer.append(line) { "\($0) dropped\n" } }
        #expect(String(decoding: buffer.take(), as: UTF8.self) == "one\ntwo\n2 dropped\n")
        #expect(buffer.take().isEmpty)
        buffer.append("five\n") { "\($0) dropped\n" }
        #expect(String(decoding: buffer.take(), as: UTF8.self) == "five\n")
    }

    @Test(
        "no caller waits for a reader that has stalled; once it reads it gets all lines in their order, and the count")
    func stalled() throws {
        let pipe = Pipe()
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor, capacity: 100_000)
        let line = String(repeating: ".", count: 92)
        for number in 100_000..<105_000 { writer.write("\(number) \(line)\n") { "dropped \($0)\n" } }
        writer.flush(within: .milliseconds(10))
        DispatchQueue.global().async {
            writer.flush()
            try? pipe.fileHandleForWriting.close()
        }
        let bytes = try #require(try pipe.fileHandleForReading.readToEnd())
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let numbers = lines.compactMap { Int($0.prefix(6)) }
        // The writer's thread may begin late. Then lines are dropped, and reported, more than once.
        let dropped = lines.compactMap { $0.hasPrefix("dropped ") ? Int($0.dropFirst("dropped ".count)) : nil }
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        #expect(!dropped.isEmpty && lines.count == numbers.count + dropped.count)
        #expect(numbers.count + dropped.reduce(0, +) == 5000)
        #expect(numbers.count >= 1000)
    }

    @Test("a reader that is gone loses lines, and nothing else")
    func gone() throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        for _ in 0..<3 { writer.write("line\n") }
        writer.flush()
    }
}
