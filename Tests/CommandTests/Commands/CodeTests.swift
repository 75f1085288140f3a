import Foundation
import Testing

@testable import Command

@Suite("errand image qr") struct CodeTests {
    @Test("a code goes to standard output, as SVG or PNG")
    func formats() async throws {
        let drawing = try await Program.run(["image", "qr", "https://example.com/join/6c1d", "--format", "svg"])
        #expect(drawing.code == 0 && drawing.errors == "")
        #expect(drawing.output.hasPrefix("<svg ") && drawing.output.hasSuffix("</svg>\n"))
        // Not by Program.run, which takes text.
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("errand")
        process.arguments = ["image", "qr", "https://example.com/join/6c1d", "--size", "200"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let image = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(image.starts(with: [0x89] + Array("PNG".utf8)))
        // The width in the header.
        #expect(Array(image[16..<20]) == [0, 0, 0, 200])
    }

    @Test("a text or size that no code can have is a usage error with the limit, and nothing is written")
    func refused() async throws {
        let long = String(repeating: "a", count: 2_332)
        for (arguments, reason) in [
            ([long], "text must have 1...2331 bytes of UTF-8 with medium error correction, and has 2332"),
            (["a", "--size", "28"], "pixels must be 29...4096 for this text, and is 28"),
            (["a", "--format", "svg", "--size", "200"], "--size: expected none with --format svg"),
        ] {
            let program = try await Program.run(["image", "qr"] + arguments)
            #expect(program.code == 64 && program.output == "")
            #expect(program.errors.contains(reason), "\(program.errors)")
        }
    }
}
