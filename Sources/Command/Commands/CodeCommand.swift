import ArgumentParser
import ErrandImages
import Foundation

struct CodeCommand: ParsableCommand {
    /// What the code is written as.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case png, svg
    }

    static let configuration = CommandConfiguration(
        commandName: "qr", abstract: "Write the QR code of a text, such as a link, to standard output.",
        discussion: """
            errand image qr https://example.com/join/6c1d > code.png
            errand image qr https://example.com/join/6c1d --size 1024 > code.png
            errand image qr https://example.com/join/6c1d --format svg > code.svg

            Black on white, with a light margin of 4 modules and error correction M, as the job event_code draws it. \
            An SVG scales to any size. Needs no database.
            """)

    @Argument(help: "The text.")
    var text: String

    @Option(help: "png or svg.")
    var format = Format.png

    @Option(help: "Pixels on a side of a PNG. (default: 512)")
    var size: Int?

    func validate() throws {
        guard format == .png || size == nil else {
            throw ValidationError("--size: expected none with --format svg, which scales to any size")
        }
    }

    func run() throws {
        guard format == .svg || isatty(STDOUT_FILENO) == 0 else {
            throw ValidationError("standard output: expected a file for the PNG, got a terminal")
        }
        let file: [UInt8]
        do {
            let code = try QRCode(text)
            file = format == .svg ? Array(code.svg().utf8) : try code.png(pixels: size ?? 512)
        } catch {
            throw ValidationError(error.detail)
        }
        try FileHandle.standardOutput.write(contentsOf: Data(file))
    }
}
