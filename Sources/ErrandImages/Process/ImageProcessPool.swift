import FoundationEssentials
import Logging
import SystemPackage
import Waiting

#if canImport(Glibc)
import Glibc
#endif

/// Compresses photos in sandboxed child processes, so that a hostile photo can't harm this process.
///
/// ```swift
/// let images = ImageProcessPool(logger: logger)
/// let (report, bytes) = try await images.compress(photo)
/// await images.stop()
/// ```
/// A child process `errand-image` is started when a photo needs it, and reused. It can open no file and no connection.
/// A photo that crashes its process fails alone.
public actor ImageProcessPool {
    /// How many child processes there are, and what each may use.
    public struct Configuration: Sendable {
        /// The path of `errand-image`. Default nil: in the folder of the running program.
        public var executable: String?
        /// Most photos at the same time, at least 1. Default: the number of processors.
        public var processes: Int
        /// What each process may use.
        public var limits = ImageProcessLimits()

        /// - Parameters:
        ///   - executable: the path of `errand-image`; nil is the folder of the running program.
        ///   - processes: most photos at the same time; nil is the number of processors.
        public init(executable: String? = nil, processes: Int? = nil) {
            self.executable = executable
            self.processes = max(1, processes ?? ProcessInfo.processInfo.activeProcessorCount)
        }
    }

    private let configuration: Configuration
    private let logger: Logger
    private let metrics = ImageMetrics()
    private var idle: [ImageProcessHandle] = []
    private var busy = 0
    private let slots: AsyncSemaphore
    private var isStopped = false

    /// Starts no process. From then on, this process ignores SIGPIPE.
    public init(_ configuration: Configuration = Configuration(), logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        slots = AsyncSemaphore(permits: configuration.processes)
        // A process that dies while a photo is written to it must not kill this one.
        signal(SIGPIPE, SIG_IGN)
    }
}

// MARK: - Compressing
extension ImageProcessPool {
    /// The peak memory of compressing a photo, in bytes, estimated from its header. The estimate is rather high.
    ///
    /// The pool bounds how many photos it compresses at the same time, not how large they are. A handler bounds their
    /// memory with `JobContext.withMemory`: a HEIC of 48 megapixels takes 544 MB, a usual photo 64 MB.
    public static func memory(for photo: [UInt8]) -> Int { (64 << 20) + MemoryDemand.bytes(for: photo) }

    /// Compresses a photo that is in memory.
    ///
    /// Waits while all processes are busy. Then a photo of a phone takes 0.1 to 1 s, and never longer than the limit.
    ///
    /// - Parameters:
    ///   - photo: the bytes of a JPEG, PNG, WebP, GIF, HEIC or AVIF file.
    ///   - request: the format, the budget and the longest side.
    /// - Returns: a report, and the result: fewer bytes than `request.maxBytes`, upright, sRGB, without metadata.
    /// - Throws: ``ImageError``, or `CancellationError` if the task was cancelled; the process is killed then.
    public func compress(
        _ photo: [UInt8], as request: ImageRequest = ImageRequest()
    ) async throws -> (report: ImageReport, bytes: [UInt8]) {
        let result = try await compress(photo, as: request, variants: [:]).result
        return (result.report, result.bytes)
    }

    /// Compresses a photo that is in memory, and makes variants of it, such as a thumbnail, from the same decoded
    /// pixels.
    ///
    /// ```swift
    /// var thumb = ImageRequest()
    /// (thumb.maxEdge, thumb.maxBytes, thumb.format) = (320, 40_000, .webp)
    /// let images = try await pool.compress(photo, variants: ["thumb": thumb])
    /// try ImageFile.write(images.variants["thumb"]!.bytes)
    /// ```
    /// A variant costs its own resize and encodes, a few milliseconds for a thumbnail, and no decoding. Its report's
    /// `milliseconds` are those of the whole call. All are made, or none.
    ///
    /// - Parameters:
    ///   - photo: the bytes of a JPEG, PNG, WebP, GIF, HEIC or AVIF file.
    ///   - request: the format, the budget and the longest side of the result. Its `background` and `maxPixels` are
    ///     those of the variants, too.
    ///   - variants: what else is to be made, by a name of 1 to 64 bytes; at most 8.
    ///   - timeoutFactor: multiplies the limits of the wall clock, for a photo that has timed out before.
    /// - Returns: the result, and the variants by name.
    /// - Throws: ``ImageError``, whose detail names the variant if one is the cause, or `CancellationError` if the task
    ///   was cancelled; the process is killed then.
    public func compress(
        _ photo: [UInt8], as request: ImageRequest = ImageRequest(), variants: [String: ImageRequest],
        timeoutFactor: Int = 1
    ) async throws -> ImageResults {
        try request.check()
        try ImageRequest.check(variants)
        guard photo.count <= configuration.limits.inputBytes else {
            throw ImageError(.tooLargeInput, "\(photo.count) bytes, at most \(configuration.limits.inputBytes)")
        }
        _ = try ImageFormat(of: photo)
        let executable = try path()
        if isStopped { throw ImageError(.unavailable, "the pool has been stopped") }
        let work = ImageWork(source: .photo(photo), request: request, variants: variants, timeoutFactor: timeoutFactor)
        return try await slots.with(1) {
            let start = ContinuousClock.now
            do {
                let results = try await compress(work, with: executable)
                metrics?.finished(nil, took: .now - start)
                return results
            } catch {
                metrics?.finished(error, took: .now - start)
                throw error
            }
        }
    }

    private func compress(_ work: ImageWork, with executable: FilePath) async throws -> ImageResults {
        let process = takeProcess(executable, for: work)
        do {
            return try await compress(work, in: process)
        } catch let error as ImageError where process.isUsed && [.crashed, .memoryLimit].contains(error.code) {
            // An earlier photo may have damaged the process. In a new process, only this photo can be the cause.
            logger.notice("image process ended, trying the photo in a new one", metadata: ["error": "\(error)"])
            return try await compress(work, in: newProcess(executable, for: work))
        }
    }

    /// Compresses one file into another. The result appears under its name complete and on disk, or not at all.
    ///
    /// - Throws: as ``compress(_:as:)``; with code `fileAccess` if a file can't be read or written.
    public func compress(
        file source: String, to destination: String, as request: ImageRequest = ImageRequest()
    ) async throws -> ImageReport {
        let photo = try ImageFile.read(source, atMost: configuration.limits.inputBytes)
        let (report, bytes) = try await compress(photo, as: request)
        try ImageFile.write(bytes, to: destination)
        return report
    }

    /// Draws a card, in a child process of its own that may read the host's fonts: about half a second.
    ///
    /// - Parameters:
    ///   - card: the text and its style.
    ///   - request: the format and the budget. The card is not larger than its format says.
    ///   - timeoutFactor: multiplies the limits of the wall clock, for a card that has timed out before.
    /// - Returns: a report, and the image's bytes.
    /// - Throws: ``ImageError``, with code `invalidRequest` for a text out of bounds, or `CancellationError`.
    public func card(
        _ card: CardRequest, as request: ImageRequest = ImageRequest(), timeoutFactor: Int = 1
    ) async throws -> (report: ImageReport, bytes: [UInt8]) {
        try card.check()
        try request.check()
        let executable = try path()
        if isStopped { throw ImageError(.unavailable, "the pool has been stopped") }
        return try await slots.with(1) {
            let work = ImageWork(source: .card(card), request: request, timeoutFactor: timeoutFactor)
            let process = ImageProcessHandle(executable: executable, limits: configuration.limits, for: work)
            defer { process.close() }
            let result = try await process.make(work).result
            return (result.report, result.bytes)
        }
    }

    /// Ends all child processes. Photos in progress are finished; new ones throw an ``ImageError``.
    public func stop() {
        isStopped = true
        for process in idle { process.close() }
        idle = []
        metrics?.processes(busy: busy, idle: 0)
    }

    private func compress(_ work: ImageWork, in process: ImageProcessHandle) async throws -> ImageResults {
        busy += 1
        metrics?.processes(busy: busy, idle: idle.count)
        defer {
            busy -= 1
            giveBack(process)
            metrics?.processes(busy: busy, idle: idle.count)
        }
        do {
            return try await process.make(work)
        } catch {
            try Task.checkCancellation()
            throw error
        }
    }
}

// MARK: - Processes
extension ImageProcessPool {
    private func takeProcess(_ executable: FilePath, for work: ImageWork) -> ImageProcessHandle {
        while let process = idle.popLast() {
            if process.isReusable { return process }
            process.close()
        }
        return newProcess(executable, for: work)
    }

    private func newProcess(_ executable: FilePath, for work: ImageWork) -> ImageProcessHandle {
        metrics?.startedProcess()
        return ImageProcessHandle(executable: executable, limits: configuration.limits, for: work)
    }

    private func giveBack(_ process: ImageProcessHandle) {
        if process.isReusable && !isStopped && idle.count < configuration.processes {
            idle.append(process)
        } else {
            process.close()
        }
    }

    /// Returns the path of `errand-image`.
    ///
    /// - Throws: ``ImageError`` with code `unavailable` if there is no such program.
    package nonisolated func program() throws(ImageError) -> String { try path().string }

    private nonisolated func path() throws(ImageError) -> FilePath {
        let path = configuration.executable ?? Self.besideThisProgram()
        guard access(path, X_OK) == 0 else {
            throw ImageError(
                .unavailable,
                "no program at \(path). Install errand-image beside errand, or build it: "
                    + "swift build --product errand-image"
            )
        }
        return FilePath(path)
    }

    private static func besideThisProgram() -> String {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = buffer.withUnsafeMutableBytes { readlink("/proc/self/exe", $0.baseAddress!, $0.count) }
        return FilePath(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self))
            .removingLastComponent().appending("errand-image").string
    }
}
