import Foundation
import Testing

@testable import Command

@Suite("errand image compress") struct ImageTests {
    /// 1680 × 1050 pixels of sand, from Debian's package mate-backgrounds: 1,021,283 bytes of JPEG.
    private let dune = "/usr/share/backgrounds/mate/nature/Dune.jpg"

    private struct Line: Decodable {
        struct Problem: Decodable { let code: String, message: String }
        let file: String
        let bytes: Int?
        let width: Int?
        let height: Int?
        let quality: Int?
        let encodes: Int?
        let milliseconds: Double?
        let error: Problem?
    }

    @Test("a photo becomes a file below the bytes and pixels that were asked for")
    func photo() async throws {
        try await withFolder { folder in
            let result = "\(folder)/small.jpg"
            let program = try await Program.run(
                ["image", "compress", dune, result, "--max-bytes", "60000", "--max-edge", "640", "--json"])
            #expect(program.code == 0)
            let line = try #require(try lines(of: program).first)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: result)).count
            #expect(bytes < 60_000 && line.bytes == bytes)
            #expect(line.file == dune && line.width == 640 && line.height == 400)
            #expect(line.quality != nil && line.encodes != nil && line.milliseconds != nil && line.error == nil)
        }
    }

    @Test("of a folder each photo gets a file of its own, and one that is none fails alone, with its code")
    func folder() async throws {
        try await withFolder { folder in
            let source = "\(folder)/in"
            try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: false)
            for name in ["a.jpeg", "a.jpg"] {
                try FileManager.default.copyItem(atPath: dune, toPath: "\(source)/\(name)")
            }
            try Data("hello".utf8).write(to: URL(fileURLWithPath: "\(source)/b.jpg"))
            let program = try await Program.run(
                ["image", "compress", source, "\(folder)/out", "--max-edge", "320", "--json"])
            #expect(program.code == 1)
            let lines = try lines(of: program)
            #expect(Set(lines.map(\.file)) == ["\(source)/a.jpeg", "\(source)/a.jpg", "\(source)/b.jpg"])
            #expect(lines.filter { $0.error != nil }.map(\.error?.code) == ["not_an_image"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder)/out").count == 2)
            #expect(program.errors == "")
        }
    }

    @Test("a photo that isn't there is an error with a code, for programs and for people")
    func missing() async throws {
        let program = try await Program.run(["image", "compress", "/nowhere.jpg", "out.jpg", "--json"])
        #expect(program.code == 1)
        #expect(try lines(of: program).first?.error?.code == "file_access")
        let people = try await Program.run(["image", "compress", "/nowhere.jpg", "out.jpg"])
        #expect(people.code == 1)
        #expect(
            people.error == "errand: /nowhere.jpg: file_access: cannot read /nowhere.jpg: No such file or directory")
    }

    @Test("a folder's results never take the place of its photos")
    func overwriting() async throws {
        try await withFolder { folder in
            try FileManager.default.copyItem(atPath: dune, toPath: "\(folder)/a.jpg")
            let program = try await Program.run(["image", "compress", folder, folder + "/../" + name(of: folder)])
            #expect(program.code == 1)
            #expect(FileManager.default.contentsEqual(atPath: dune, andPath: "\(folder)/a.jpg"))
        }
    }

    private func name(of path: String) -> String { (path as NSString).lastPathComponent }

    private func lines(of program: Program) throws -> [Line] {
        try program.output.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }
}
