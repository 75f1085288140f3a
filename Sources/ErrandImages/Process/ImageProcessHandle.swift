import FoundationEssentials
import Subprocess
import Synchronization
import SystemPackage

/// What a process makes an image of.
enum ImageSource: Sendable {
    case photo([UInt8])
    case card(CardRequest)

    /// The bytes that follow the request.
    var bytes: [UInt8] {
        if case .photo(let bytes) = self { bytes } else { [] }
    }

    var card: CardRequest? {
        if case .card(let card) = self { card } else { nil }
    }
}

/// What a process is to make, and how long it may take.
struct ImageWork: Sendable {
    let source: ImageSource
    let request: ImageRequest
    var variants: [String: ImageRequest] = [:]
    /// Multiplies the limits of the wall clock.
    var timeoutFactor = 1
}

/// The handle of a running `errand-image` process, which compresses one photo after another, or draws cards, until it
/// is closed, misbehaves or dies.
///
/// One caller at a time. The process ends with the last reference to the handle at the latest. If the parent program is
/// killed, the kernel ends the process.
final class ImageProcessHandle: Sendable {
    private struct Task: Sendable {
        let work: ImageWork
        let caller: CheckedContinuation<ImageResults, any Error>
    }

    /// The state of the process, shared with the task that runs it.
    private final class SharedState: Sendable {
        struct State {
            /// Kills the process; nil before it runs and after it has ended.
            var kill: (@Sendable () -> Void)?
            /// Why the handle killed it.
            var cause: ImageError?
            var isOver = false
            var photos = 0
            var hasFailed = false
            var peakBytes: UInt64 = 0
        }

        let state = Mutex(State())

        func end(because cause: ImageError) {
            let kill = state.withLock { state in
                if state.cause == nil { state.cause = cause }
                return state.kill
            }
            kill?()
        }
    }

    private let limits: ImageProcessLimits
    private let shared = SharedState()
    private let tasks: AsyncStream<Task>.Continuation

    /// Starts `executable`. A failure to start is thrown with the first photo or card.
    ///
    /// - Parameter first: what it is started for. If that is a card, it draws cards, for which it may read files; else
    ///   it compresses photos.
    init(executable: FilePath, limits: ImageProcessLimits, for first: ImageWork) {
        self.limits = limits
        var adapted = limits
        adapted.start *= first.timeoutFactor
        let drawsCards = first.source.card != nil
        let (stream, tasks) = AsyncStream.makeStream(of: Task.self)
        self.tasks = tasks
        // The task outlives the caller whose photo started it, because it serves later ones. It ends with `tasks`.
        _Concurrency.Task { [shared, adapted] in
            await Self.run(executable, adapted, drawsCards, stream, tasks, shared)
        }
    }

    deinit { tasks.finish() }
}

// MARK: - Using it
extension ImageProcessHandle {
    /// Whether it has done photos before: then an earlier photo may be the cause of a crash.
    var isUsed: Bool { shared.state.withLock { $0.photos > 0 } }

    /// Whether it may process another photo.
    var isReusable: Bool {
        shared.state.withLock {
            !$0.isOver && !$0.hasFailed && $0.photos < limits.photos && $0.peakBytes < limits.residentBytes
        }
    }

    /// Makes the images of one photo, or the image of a card.
    ///
    /// - Throws: ``ImageError``; `CancellationError` if the caller's task was cancelled, which ends the process.
    func make(_ work: ImageWork) async throws -> ImageResults {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { caller in
                let isTaken = shared.state.withLock { state in
                    if state.isOver { return false }
                    tasks.yield(Task(work: work, caller: caller))
                    return true
                }
                if !isTaken { caller.resume(throwing: ImageError(.crashed, "the process had ended")) }
            }
        } onCancel: {
            shared.end(because: ImageError(.crashed, "cancelled"))
        }
    }

    /// Ends the process after its current photo.
    func close() { tasks.finish() }
}

// MARK: - Its life
extension ImageProcessHandle {
    private enum ServeResult: Sendable {
        case closed
        case lost(Task)
        case notReady
    }

    private static func run(
        _ executable: FilePath, _ limits: ImageProcessLimits, _ drawsCards: Bool, _ stream: AsyncStream<Task>,
        _ tasks: AsyncStream<Task>.Continuation, _ shared: SharedState
    ) async {
        var failure = ImageError(.crashed, "the process had ended")
        var lost: Task?
        do {
            let outcome = try await Subprocess.run(
                .path(executable), arguments: .init([String(limits.addressSpace)] + (drawsCards ? ["cards"] : [])),
                environment: .custom([Environment.Key: String]()),
                input: .inputWriter, output: .sequence, error: .string(limit: 64 * 1024)
            ) { execution in
                await serve(stream, execution, limits, shared)
            }
            let status = outcome.terminationStatus
            let cause = shared.state.withLock { $0.cause }
            switch outcome.closureResult {
            case .closed: break
            case .lost(let task):
                lost = task
                failure = cause ?? explain(status, said: outcome.standardError)
            case .notReady:
                let said = outcome.standardError.split(separator: "\n").first.map { ": \($0)" } ?? ""
                failure =
                    cause ?? ImageError(.unavailable, "\(executable) ended before it was ready (\(status))\(said)")
            }
        } catch {
            failure = ImageError(
                .unavailable, "cannot start \(executable): \(error). Build it: swift build --product errand-image")
        }
        // From here on no photo is accepted, so that none waits for an ended process.
        shared.state.withLock { state in
            state.isOver = true
            state.kill = nil
        }
        tasks.finish()
        lost?.caller.resume(throwing: failure)
        for await task in stream { task.caller.resume(throwing: failure) }
    }

    /// Reads the hello, then compresses one photo after the other.
    private static func serve(
        _ tasks: AsyncStream<Task>, _ execution: Execution<CustomWriteInput, SequenceOutput, some OutputProtocol>,
        _ limits: ImageProcessLimits, _ shared: SharedState
    ) async -> ServeResult {
        let kill: @Sendable () -> Void = { try? execution.send(signal: .kill) }
        let wasEnded = shared.state.withLock { state in
            state.kill = kill
            return state.cause != nil
        }
        if wasEnded { kill() }
        var output = FrameReader(execution.standardOutput)

        let start = timer(
            limits.start, shared, ImageError(.timedOut, "errand-image did not start in \(limits.start)"))
        let hello = try? await output.header(HelloMessage.self)
        await start.stop()
        guard hello?.version == HelloMessage.currentVersion else {
            kill()
            return .notReady
        }

        let watch = threadWatch(execution.processIdentifier, limits.threads, shared)
        defer { watch.task.cancel() }
        for await task in tasks {
            let work = task.work
            let most = limits.wallClock * work.timeoutFactor
            let clock = timer(most, shared, ImageError(.timedOut, "took longer than \(most)"))
            do {
                let begin = ContinuousClock.now
                let (response, bytes, files) = try await exchange(
                    work, execution.standardInputWriter, &output, limits)
                await clock.stop()
                let verdict = ResultCheck.verdict(
                    on: response, bytes, files, of: work.source, as: work.request, variants: work.variants)
                shared.state.withLock { state in
                    state.photos += 1
                    state.peakBytes = response.peakBytes
                    if case .failed = verdict { state.hasFailed = true }
                }
                switch verdict {
                case .made(let report, let reports):
                    let milliseconds = begin.duration(to: .now) / .milliseconds(1)
                    task.caller.resume(
                        returning: ImageResults(
                            result: result(report, bytes, milliseconds),
                            variants: reports.reduce(into: [:]) { results, variant in
                                results[variant.key] = result(variant.value, files[variant.key] ?? [], milliseconds)
                            },
                            decodes: response.decodes ?? 0))
                case .failed(let error):
                    task.caller.resume(throwing: error)
                case .invalid(let reason):
                    shared.end(because: ImageError(.crashed, reason))
                    return .lost(task)
                }
            } catch {
                await clock.stop()
                kill()
                return .lost(task)
            }
        }
        return .closed
    }

    private static func result(_ report: ImageReport, _ bytes: [UInt8], _ milliseconds: Double) -> ImageResult {
        var report = report
        report.milliseconds = milliseconds
        return ImageResult(report: report, bytes: bytes)
    }

    private static func exchange(
        _ work: ImageWork, _ input: StandardInputWriter, _ output: inout FrameReader, _ limits: ImageProcessLimits
    ) async throws -> (ResponseMessage, [UInt8], [String: [UInt8]]) {
        let photo = work.source.bytes
        let request = RequestMessage(
            request: work.request, variants: work.variants, card: work.source.card, bytes: photo.count,
            seconds: limits.processorSeconds)
        _ = try await input.write(try Frame.head(request))
        if !photo.isEmpty { _ = try await input.write(photo) }
        let response = try await output.header(ResponseMessage.self)
        // A larger result isn't one of an `errand-image`.
        guard 0..<max(work.request.maxBytes, photo.count + 1) ~= response.bytes else { throw FrameReader.Broken() }
        let bytes = try await output.take(response.bytes)
        var files: [String: [UInt8]] = [:]
        for (name, report) in (response.variants ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let request = work.variants[name], 0..<request.maxBytes ~= report.bytes else {
                throw FrameReader.Broken()
            }
            files[name] = try await output.take(report.bytes)
        }
        return (response, bytes, files)
    }

    /// The error for the way in which a process ended.
    private static func explain(_ status: TerminationStatus, said: String) -> ImageError {
        let last = said.split(separator: "\n").last.map { String($0) } ?? ""
        let memory = ["bad_alloc", "allocate", "memory"].contains { said.contains($0) }
        return switch status {
        case .signaled(24): ImageError(.timeLimit, "spent its processor time")
        case _ where memory: ImageError(.memoryLimit, last)
        default: ImageError(.crashed, "\(status) \(last)")
        }
    }
}

// MARK: - Time
extension ImageProcessHandle {
    private struct Timer {
        let task: _Concurrency.Task<Void, Never>

        /// Returns once it can no longer kill the process.
        func stop() async {
            task.cancel()
            await task.value
        }
    }

    /// Ends the process after `duration`, unless it is stopped before.
    private static func timer(_ duration: Duration, _ shared: SharedState, _ cause: ImageError) -> Timer {
        Timer(
            task: _Concurrency.Task {
                do { try await _Concurrency.Task.sleep(for: duration) } catch { return }
                shared.end(because: cause)
            })
    }

    /// Kills the process if it has too many threads, until the watch is cancelled.
    ///
    /// If the process can't be inspected, as under systemd's `ProtectProc`, `TasksMax` of the service bounds it.
    private static func threadWatch(_ process: ProcessIdentifier, _ most: Int, _ shared: SharedState) -> Timer {
        Timer(
            task: _Concurrency.Task {
                while (try? await _Concurrency.Task.sleep(for: .milliseconds(250))) != nil {
                    let status = (try? String(contentsOfFile: "/proc/\(process.value)/status", encoding: .utf8)) ?? ""
                    let line = status.split(separator: "\n").first { $0.hasPrefix("Threads:") }
                    guard let count = line.flatMap({ Int($0.dropFirst(9)) }), count > most else { continue }
                    return shared.end(because: ImageError(.crashed, "it had \(count) threads, at most \(most)"))
                }
            })
    }
}
