import ArgumentParser
import ErrandImages
import Foundation
import Logging

struct ImageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "image", abstract: "Compress photos in files, as the image job does, and draw cards and QR codes.",
        subcommands: [CompressCommand.self, CardCommand.self, CodeCommand.self])
}

struct CompressCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compress",
        abstract: "Compress a photo, or all photos of a folder, below a number of bytes.",
        discussion: """
            errand image compress photo.heic photo.jpg
            errand image compress --json holiday/ small/

            Takes JPEG, HEIC, AVIF, PNG, WebP and GIF (first frame), whatever the file's name. The result is upright, \
            sRGB, without metadata, and has fewer bytes than --max-bytes. Two photos of a folder are done at a time. Needs no \
            database.

            With --json: file, bytes, width, height, quality (none if the pixels are unchanged), encodes, \
            milliseconds; for a failed photo, file and error with code and message. Exits with 1 if one failed.
            """)

    @Argument(help: "A photo, or a folder of photos.", completion: .file())
    var input: String

    @Argument(help: "The result: a file, or a folder if the input is one.", completion: .file())
    var output: String

    @Option(help: "The result has fewer bytes than this.")
    var maxBytes = 500_000

    @Option(help: "Longest edge of the result in pixels.")
    var maxEdge = 2560

    @Option(help: "jpeg, webp or avif.")
    var format = "jpeg"

    @Flag(help: "Print a JSON object a photo.")
    var json = false

    func validate() throws {
        guard maxBytes >= 1000 else { throw ValidationError("--max-bytes: expected at least 1000, got \(maxBytes)") }
        guard (16...16_384).contains(maxEdge) else {
            throw ValidationError("--max-edge: expected 16 to 16384, got \(maxEdge)")
        }
        guard ImageRequest.Format(rawValue: format) != nil else {
            throw ValidationError("--format: expected jpeg, webp or avif, got '\(format)'")
        }
    }

    func run() async throws {
        let environment = try Environment.load()
        var request = ImageRequest()
        request.maxBytes = maxBytes
        request.maxEdge = maxEdge
        request.format = ImageRequest.Format(rawValue: format) ?? .jpeg
        let pool = ImageProcessPool(.init(processes: 2), logger: environment.logger)
        var isFolder: ObjCBool = false
        // A missing file is a photo that can't be read: its line has a code.
        _ = FileManager.default.fileExists(atPath: input, isDirectory: &isFolder)
        let work: [Work]
        do throws(ImageError) {
            work = try isFolder.boolValue ? folderWork() : [Work(source: input, destination: output)]
        } catch {
            show(Line(input, .failure(error)))
            throw ExitCode(Failure.failed)
        }
        let failed = await compress(work, as: request, in: pool)
        await pool.stop()
        if failed > 0 { throw ExitCode(Failure.failed) }
    }

    private struct Work: Sendable {
        let source: String
        let destination: String
    }

    /// The output line of one photo.
    private struct Line: Encodable {
        struct Problem: Encodable {
            let code: String
            let message: String
        }

        let file: String
        var bytes: Int?
        var width: Int?
        var height: Int?
        var quality: Int?
        var encodes: Int?
        var milliseconds: Double?
        var error: Problem?

        init(_ file: String, _ result: Result<ImageReport, any Error>) {
            self.file = file
            switch result {
            case .success(let report):
                bytes = report.bytes
                width = report.width
                height = report.height
                quality = report.quality
                encodes = report.encodes
                milliseconds = (report.milliseconds * 10).rounded() / 10
            case .failure(let failure):
                let known = failure as? ImageError
                let message = known.map { $0.detail.isEmpty ? $0.code.rawValue : $0.detail } ?? "\(failure)"
                error = Problem(code: known?.code.rawValue ?? "failed", message: message.printable)
            }
        }
    }

    private func folderWork() throws(ImageError) -> [Work] {
        let files = FileManager.default
        let folders = [input, output].map {
            URL(fileURLWithPath: $0).resolvingSymlinksInPath().standardizedFileURL.path
        }
        guard folders[0] != folders[1] else {
            throw ImageError(.invalidRequest, "output: expected another folder, since the photos would be overwritten")
        }
        guard let all = try? files.contentsOfDirectory(atPath: input) else {
            throw ImageError(.fileAccess, "cannot read the folder \(input)")
        }
        guard (try? files.createDirectory(atPath: output, withIntermediateDirectories: true)) != nil else {
            throw ImageError(.fileAccess, "cannot make the folder \(output)")
        }
        let names = all.filter { !$0.hasPrefix(".") }.sorted()
        let ending = format == "jpeg" ? "jpg" : format
        var taken: Set<String> = []
        return names.compactMap { name in
            let source = "\(input)/\(name)"
            var isFolder: ObjCBool = false
            guard files.fileExists(atPath: source, isDirectory: &isFolder), !isFolder.boolValue else { return nil }
            // Two photos that differ only in their extension keep it in their names.
            var stem = (name as NSString).deletingPathExtension
            while !taken.insert(stem).inserted { stem = stem.count < name.count ? name : stem + "-2" }
            return Work(source: source, destination: "\(output)/\(stem).\(ending)")
        }
    }

    /// Compresses all, two at a time. Returns how many failed.
    private func compress(_ work: [Work], as request: ImageRequest, in pool: ImageProcessPool) async -> Int {
        let progress = work.count > 1 && !json && isatty(STDERR_FILENO) == 1
        var failed = 0
        var done = 0
        await withTaskGroup(of: Line.self) { group in
            var rest = work[...]
            func addNext() {
                guard let next = rest.popFirst() else { return }
                group.addTask {
                    do {
                        let report = try await pool.compress(file: next.source, to: next.destination, as: request)
                        return Line(next.source, .success(report))
                    } catch {
                        return Line(next.source, .failure(error))
                    }
                }
            }
            addNext()
            addNext()
            while let line = await group.next() {
                addNext()
                done += 1
                if line.error != nil { failed += 1 }
                if progress { writeError("\r\u{1B}[K", end: "") }
                show(line)
                if progress { show(done, of: work.count) }
            }
        }
        if progress { writeError("") }
        return failed
    }

    private func show(_ line: Line) {
        if json { return print((try? Command.json(line)) ?? "{}") }
        if let error = line.error {
            let reason = error.message == error.code ? error.code : "\(error.code): \(error.message)"
            return writeError("errand: \(line.file.printable): \(reason)")
        }
        guard let bytes = line.bytes, let width = line.width, let height = line.height else { return }
        let quality = line.quality.map { "quality \($0)" } ?? "unchanged"
        print(
            "\(line.file.printable): \(bytes) bytes, \(width) x \(height), \(quality), \(line.encodes ?? 0) encodes, "
                + "\(Int(line.milliseconds ?? 0)) ms")
    }

    private func show(_ done: Int, of count: Int) {
        let width = 30
        let filled = done * width / count
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        writeError("\r[\(bar)] \(done)/\(count) ", end: "")
    }
}
