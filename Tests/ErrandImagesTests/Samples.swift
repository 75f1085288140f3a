import ErrandImages
import Foundation
import Logging

/// Photographs for tests, and other programs that make and read pictures.
enum Samples {
    /// 1680 × 1050 pixels of sand, from Debian's package mate-backgrounds: 1,021,283 bytes of JPEG without EXIF.
    static let dune = "/usr/share/backgrounds/mate/nature/Dune.jpg"
    /// 5640 × 3172 pixels of progressive JPEG, full of detail.
    static let elephants = "/usr/share/backgrounds/mate/abstract/Elephants_5640x3172.jpg"

    static func bytes(_ path: String) throws -> [UInt8] {
        try ImageFile.read(path, atMost: 1 << 30)
    }

    /// The standard output of a program. Throws if the program fails.
    @discardableResult
    static func run(_ command: String...) throws -> [UInt8] {
        let process = Foundation.Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(command: command) }
        return Array(data)
    }

    struct Failed: Error { let command: [String] }

    /// A picture from ImageMagick. The arguments are without the output's name.
    static func magick(_ arguments: String, as type: String = "jpg") throws -> [UInt8] {
        try run("sh", "-c", "convert \(arguments) \(type):-")
    }

    /// The pixels of a file, three bytes each, from an independent decoder: ImageMagick.
    static func pixels(_ file: [UInt8]) throws -> [UInt8] {
        try withFolder { folder in
            try Data(file).write(to: folder.appendingPathComponent("picture"))
            return try run("convert", folder.appendingPathComponent("picture").path, "-depth", "8", "rgb:-")
        }
    }

    /// The mean of red, green and blue over a whole file, 0...255.
    static func meanColour(_ file: [UInt8]) throws -> [Double] {
        let pixels = try pixels(file)
        return (0..<3).map { band in
            Double(stride(from: band, to: pixels.count, by: 3).reduce(0) { $0 + Int(pixels[$1]) })
                / Double(pixels.count / 3)
        }
    }

    /// A temporary folder.
    static func withFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }
}

extension ImageProcessPool {
    /// A pool of the `errand-image` that was built with these tests.
    static func forTests(
        processes: Int = 1, executable: String = ImageProcessPool.built,
        limits: ImageProcessLimits = ImageProcessLimits()
    ) -> ImageProcessPool {
        var configuration = Configuration(executable: executable, processes: processes)
        configuration.limits = limits
        return ImageProcessPool(configuration, logger: Logger(label: "test"))
    }

    static let built: String = {
        let tests = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("errand-image").path
    }()
}
