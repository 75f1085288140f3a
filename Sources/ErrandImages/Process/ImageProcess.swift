import FoundationEssentials
import Subprocess
import Synchronization
import SystemPackage

/// What a process made of a photo.
struct ImageResult: Sendable {
    let report: ImageReport
    let bytes: [UInt8]
}

/// One running `errand-image`, which does photo after photo until it is let go, misbehaves, or dies.
///
/// One caller at a time. The process ends with the last reference to this, at the latest; should this whole program be
/// killed, the kernel ends it.
final class ImageProcess: Sendable {
    private struct Task: Sendable {
        let photo: [UInt8]
        let request: ImageRequest
        let caller: CheckedContinuation<ImageResult, any Error>
    }

    /// What is known of the process, shared with the task that leads its life.
    private final class Vitals: Sendable {
        struct State {
            /// Ends the process at once; nil before it runs and after it is gone.
            var kill: (@Sendable () -> Void)?
            /// Why it was ended by us.
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
    private let vitals = Vitals()
    private let tasks: AsyncStream<Task>.Continuation

    /// Starts `executable`. Whether that worked shows with the first photo.
    init(executable: FilePath, limits: ImageProcessLimits) {
        self.limits = limits
        let (stream, tasks) = AsyncStream.makeStream(of: Task.self)
        self.tasks = tasks
        // It outlives the caller whose photo started it, because it serves others after. It ends with `tasks`.
        _Concurrency.Task { [vitals] in await Self.live(executable, limits, stream, tasks, vitals) }
    }

    deinit { tasks.finish() }
}

// MARK: - Using it
extension ImageProcess {
    /// Whether it has done photos before, so that what it dies of may be an earlier one's doing.
    var isUsed: Bool { vitals.state.withLock { $0.photos > 0 } }

    /// Whether it may be given another photo.
    var isFit: Bool {
        vitals.state.withLock {
            !$0.isOver && !$0.hasFailed && $0.photos < limits.photos && $0.peakBytes < limits.residentBytes
        }
    }

    /// Has one photo done.
    ///
    /// - Throws: ``ImageError``; `CancellationError` where the caller's task was cancelled, which ends the process.
    func compress(_ photo: [UInt8], as request: ImageRequest) async throws -> ImageResult {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { caller in
                let isTaken = vitals.state.withLock { state in
                    if state.isOver { return false }
                    tasks.yield(Task(photo: photo, request: request, caller: caller))
                    return true
                }
                if !isTaken { caller.resume(throwing: ImageError(.crashed, "the process had ended")) }
            }
        } onCancel: {
            vitals.end(because: ImageError(.crashed, "cancelled"))
        }
    }

    /// Lets it go: what it does now is the last.
    func letGo() { tasks.finish() }
}

// MARK: - Its life
extension ImageProcess {
    private enum Ending: Sendable {
        case letGo
        case lost(Task)
        case neverReady
    }

    private static func live(
        _ executable: FilePath, _ limits: ImageProcessLimits, _ stream: AsyncStream<Task>,
        _ tasks: AsyncStream<Task>.Continuation, _ vitals: Vitals
    ) async {
        var failure = ImageError(.crashed, "the process had ended")
        var lost: Task?
        do {
            let outcome = try await Subprocess.run(
                .path(executable), arguments: [String(limits.addressSpace)],
                environment: .custom([Environment.Key: String]()),
                input: .inputWriter, output: .sequence, error: .string(limit: 64 * 1024)
            ) { execution in
                await serve(stream, execution, limits, vitals)
            }
            let status = outcome.terminationStatus
            let cause = vitals.state.withLock { $0.cause }
            switch outcome.closureResult {
            case .letGo: break
            case .lost(let task):
                lost = task
                failure = cause ?? explain(status, said: outcome.standardError)
            case .neverReady:
                let said = outcome.standardError.split(separator: "\n").first.map { ": \($0)" } ?? ""
                failure =
                    cause ?? ImageError(.unavailable, "\(executable) ended before it was ready (\(status))\(said)")
            }
        } catch {
            failure = ImageError(
                .unavailable, "cannot start \(executable): \(error). Build it: swift build --product errand-image")
        }
        // From here on no photo is taken, so that none waits for a process that is gone.
        vitals.state.withLock { state in
            state.isOver = true
            state.kill = nil
        }
        tasks.finish()
        lost?.caller.resume(throwing: failure)
        for await task in stream { task.caller.resume(throwing: failure) }
    }

    /// Reads the greeting, then does one photo after the other.
    private static func serve(
        _ tasks: AsyncStream<Task>, _ execution: Execution<CustomWriteInput, SequenceOutput, some OutputProtocol>,
        _ limits: ImageProcessLimits, _ vitals: Vitals
    ) async -> Ending {
        let kill: @Sendable () -> Void = { try? execution.send(signal: .kill) }
        let wasEnded = vitals.state.withLock { state in
            state.kill = kill
            return state.cause != nil
        }
        if wasEnded { kill() }
        var output = FrameReader(execution.standardOutput)

        let start = timer(
            limits.start, vitals, ImageError(.unavailable, "errand-image did not start in \(limits.start)"))
        let greeting = try? await output.header(Greeting.self)
        await start.stop()
        guard greeting?.version == Greeting.currentVersion else {
            kill()
            return .neverReady
        }

        let watch = threadWatch(execution.processIdentifier, limits.threads, vitals)
        defer { watch.task.cancel() }
        for await task in tasks {
            let clock = timer(limits.wallClock, vitals, ImageError(.timeLimit, "took longer than \(limits.wallClock)"))
            do {
                let begin = ContinuousClock.now
                let (answer, bytes) = try await converse(task, execution.standardInputWriter, &output, limits)
                await clock.stop()
                let verdict = ResultCheck.verdict(on: answer, bytes, of: task.photo, as: task.request)
                vitals.state.withLock { state in
                    state.photos += 1
                    state.peakBytes = answer.peakBytes
                    if case .failed = verdict { state.hasFailed = true }
                }
                switch verdict {
                case .made(var report):
                    report.milliseconds = begin.duration(to: .now) / .milliseconds(1)
                    task.caller.resume(returning: ImageResult(report: report, bytes: bytes))
                case .failed(let error):
                    task.caller.resume(throwing: error)
                case .untrue(let reason):
                    vitals.end(because: ImageError(.crashed, reason))
                    return .lost(task)
                }
            } catch {
                await clock.stop()
                kill()
                return .lost(task)
            }
        }
        return .letGo
    }

    private static func converse(
        _ task: Task, _ input: StandardInputWriter, _ output: inout FrameReader, _ limits: ImageProcessLimits
    ) async throws -> (Answer, [UInt8]) {
        let order = Order(request: task.request, bytes: task.photo.count, seconds: limits.processorSeconds)
        _ = try await input.write(try Frame.head(order))
        _ = try await input.write(task.photo)
        let answer = try await output.header(Answer.self)
        // More than was asked for is no answer of ours.
        guard 0..<max(task.request.maxBytes, task.photo.count + 1) ~= answer.bytes else { throw FrameReader.Broken() }
        return (answer, try await output.take(answer.bytes))
    }

    /// Says by its end what a process died of.
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
extension ImageProcess {
    private struct Timer {
        let task: _Concurrency.Task<Void, Never>

        /// Returns once it can do no more harm.
        func stop() async {
            task.cancel()
            await task.value
        }
    }

    /// Ends the process after `duration`, unless it is stopped before.
    private static func timer(_ duration: Duration, _ vitals: Vitals, _ cause: ImageError) -> Timer {
        Timer(
            task: _Concurrency.Task {
                do { try await _Concurrency.Task.sleep(for: duration) } catch { return }
                vitals.end(because: cause)
            })
    }

    /// Ends the process once it has more threads than it may, until the watch is cancelled.
    ///
    /// Where the process can't be looked at, as under systemd's `ProtectProc`, `TasksMax` of the service bounds it.
    private static func threadWatch(_ process: ProcessIdentifier, _ most: Int, _ vitals: Vitals) -> Timer {
        Timer(
            task: _Concurrency.Task {
                while (try? await _Concurrency.Task.sleep(for: .milliseconds(250))) != nil {
                    let status = (try? String(contentsOfFile: "/proc/\(process.value)/status", encoding: .utf8)) ?? ""
                    let line = status.split(separator: "\n").first { $0.hasPrefix("Threads:") }
                    guard let count = line.flatMap({ Int($0.dropFirst(9)) }), count > most else { continue }
                    return vitals.end(because: ImageError(.crashed, "it had \(count) threads, at most \(most)"))
                }
            })
    }
}
