import AppTestKit
import Errand
import ErrandImages
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

private let link = "https://example.com/join/6c1d3a52-7d0a-4c2e-9a07-3b1f0e5d9c11"

@Suite("QR codes of events") struct EventCodeTests {
    @Test("a code is drawn and stored once, however many ask for it at once, and is read as its link")
    func drawnOnce() async throws {
        try await withCodes { test, store in
            let database = test.database
            let event = try await database.makeEvent()
            let asked = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 { group.addTask { try await database.code(of: event) } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(asked.count == 1)
            let key = try #require(asked.first?.split(separator: "|").last.map(String.init))
            #expect(asked == ["drawing|\(key)"])
            #expect(try await test.drain().outcomes == [.succeeded, .succeeded])
            #expect(try await database.code(of: event) == "stored|\(key)")
            #expect(try await database.count("from errand.history where kind = 'event_code'") == 1)
            let image = try await store.get(ObjectKey(key))
            #expect(try ImageFormat(of: image) == .png)
            #expect(try read(image) == link)
            // Another link is another code.
            #expect(try await database.code(of: event, link: "party://join/6c1d").hasPrefix("drawing|"))
            #expect(try await database.count("from events.code_status where error is null") == 2)
        }
    }

    @Test("E1: codes are deleted with their event, and one that is drawn meanwhile is not stored")
    func deleted() async throws {
        try await withCodes { test, store in
            let database = test.database
            let (gone, kept) = (try await database.makeEvent(), try await database.makeEvent())
            for event in [gone, kept] { _ = try await database.code(of: event) }
            try await test.drain()
            _ = try await database.code(of: gone, link: "party://drawn-late")
            #expect(try await store.all().count == 2)
            try await database.execute(Statement("select events.delete($1, 'anna')", [gone]))
            #expect(try await test.drain().outcomes.filter { $0 == .cancelled } == [.cancelled])
            for _ in 1...3 {
                try await database.ageRemovals()
                try await database.execute("select errand.enqueue('object_removal')")
                try await test.drain()
            }
            let left = try await database.lines("select event_id, key from events.code_status")
            #expect(left.count == 1 && left[0].hasPrefix(kept.uuidString.lowercased()))
            #expect(try await store.all() == left.map { String($0.split(separator: "|")[1]) })
            #expect(try await database.count("from media.upload") == 1)
            #expect(try await database.code(of: gone) == "no_event|")
        }
    }

    @Test("a code that can't be drawn fails with the reason, and the same call tries it again")
    func failed() async throws {
        try await withCodes { test, _ in
            let database = test.database
            let event = try await database.makeEvent()
            _ = try await database.code(of: event)
            // More bytes than a code holds. events.code refuses such a link.
            try await database.execute("update events.code set link = repeat('💛', 1000)")
            #expect(try await test.drain().outcomes == [.failed])
            #expect(
                try await database.lines("select state, error from events.code_status")
                    == [
                        "failed|invalid_request: text must have 1...2329 bytes of UTF-8 with medium error correction, "
                            + "and has 4000"
                    ])
            try await database.execute(Statement("update events.code set link = $1", [link]))
            #expect(try await database.code(of: event).hasPrefix("drawing|"))
            #expect(try await test.drain().outcomes == [.succeeded, .succeeded])
            #expect(try await database.code(of: event).hasPrefix("stored|"))
        }
    }

    @Test("what is no link is refused, and the error has no part of it")
    func refused() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent()
            let long = "https://example.com/" + String(repeating: "s", count: 980)
            for link in [
                "HTTPS://example.com", "party://x", "my.app+x-1:///join", "https://exämple.de/夏祭り", long,
                "https://a/" + String(repeating: "é", count: 990),
            ] {
                #expect(try await database.code(of: event, link: link).hasPrefix("drawing|"), "\(link)")
            }
            for link in [
                nil, "", "secret", "secret://", "https://secret s", "https://secret\n", "https:///secret", long + "s",
                "javascript://secret", "://secret", "1a://secret", " https://secret",
                "https://a/" + String(repeating: "💛", count: 498),
            ] {
                let error = await #expect(throws: PostgresError.self, "\(link ?? "null")") {
                    try await database.execute(Statement("select events.code($1, $2)", [event, link]))
                }
                #expect(error?.sqlState == "ER422", "\(link ?? "null")")
                let text = error.map { "\($0)" } ?? ""
                #expect(text.contains("code: link: expected ") && !text.contains("secret"), "\(text)")
            }
        }
    }

    /// A queue with the handlers of codes and objects, on a store of its own.
    private func withCodes(_ body: (TestQueue, FolderStore) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("codes-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store = try FolderStore(root: root)
        let handlers: [any JobHandler] = [
            EventCodeHandler(), UploadRetryHandler(store: store), ObjectRemovalHandler(store: store),
        ]
        try await withAppQueue(handlers) { try await body($0, store) }
    }

    /// The text that an independent program, zbarimg, reads in a picture.
    private func read(_ picture: [UInt8]) throws -> String {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("code-\(UUID().uuidString).png")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(picture).write(to: file)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/zbarimg")
        process.arguments = ["--quiet", "--raw", file.path]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(String(decoding: text, as: UTF8.self).dropLast())
    }

    @Test("codes and archives are neither originals nor handed over, made or not, and are drawn all the same")
    func generated() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent().uuidString.lowercased()
            let code = try await database.lines("select key from events.code('\(event)', 'https://a.example/1')")
            let keys = code + ["events/\(event)/archives/\(UUID()).zip"]
            for isDrawn in [false, true] {
                if isDrawn {
                    #expect(
                        try await database.lines("select events.code_drawn_v1(id, '\\x00') from events.code") == [
                            "true"
                        ])
                    #expect(try await database.number("select count(*) from media.upload") == 1)
                }
                try await database.refuses(generated: keys)
                for key in keys {
                    let call = "events.add_photo('\(event)', 'anna', '\(key)')"
                    #expect(try await database.state(of: call) == "ER409", "\(call)")
                }
            }
            #expect(try await database.number("select count(*) from media.photo") == 0)
        }
    }
}

extension Database {
    /// Asks for a code. Returns its status and key, with a bar between them.
    fileprivate func code(of event: UUID, link: String = link) async throws -> String {
        let (status, key) = try await query(Statement("select status, key from events.code($1, $2)", [event, link]))[0]
            .decode(String.self, String?.self)
        return "\(status)|\(key ?? "")"
    }
}
