import ErrandImages
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#endif

@Suite("Image processes") struct ImageProcessTests {
    @Test("fifty concurrent photos are all compressed")
    func many() async throws {
        let pool = ImageProcessPool.forTests(processes: 2)
        var request = ImageRequest()
        (request.maxEdge, request.maxBytes, request.format) = (100, 15_000, .webp)
        let photo = try Samples.magick("\(Samples.dune) -resize 300x")
        let reports = try await withThrowingTaskGroup(of: ImageReport.self) { group in
            for _ in 0..<50 { group.addTask { [request] in try await pool.compress(photo, as: request).report } }
            return try await group.reduce(into: [ImageReport]()) { $0.append($1) }
        }
        #expect(reports.count == 50)
        #expect(reports.allSatisfy { $0.bytes < 15_000 && $0.width == 100 })
    }

    @Test("a process that is killed fails its photo, and the next photo is done")
    func killed() async throws {
        let program = try Program()
        defer { program.remove() }
        let pool = ImageProcessPool.forTests(executable: program.path)
        let photo = try Samples.bytes(Samples.elephants)
        let failing = Task { try await pool.compress(photo) }
        kill(try await program.busyProcess(), SIGKILL)
        await #expect { _ = try await failing.value } throws: { ($0 as? ImageError)?.code == .crashed }
        #expect(try await pool.compress(try Samples.magick("-size 300x200 plasma:")).bytes.count < 500_000)
    }

    @Test("a signal that asks all processes of a group to end costs no photo")
    func asked() async throws {
        let program = try Program()
        defer { program.remove() }
        let pool = ImageProcessPool.forTests(executable: program.path)
        var request = ImageRequest()
        (request.maxEdge, request.format) = (700, .webp)
        let photo = try Samples.bytes(Samples.elephants)
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] {
            let working = Task { [request] in try await pool.compress(photo, as: request) }
            let process = try await program.busyProcess()
            kill(process, signal)
            #expect(try await working.value.bytes.count < 500_000, "signal \(signal)")
            #expect(try await program.process() == process, "signal \(signal)")
        }
    }

    @Test("a process that dies between two photos costs neither")
    func killedWhileIdle() async throws {
        let program = try Program()
        defer { program.remove() }
        let pool = ImageProcessPool.forTests(executable: program.path)
        let photo = try Samples.magick("-size 300x200 plasma:")
        _ = try await pool.compress(photo)
        kill(try await program.process(), SIGKILL)
        #expect(try await pool.compress(photo).bytes.count > 0)
    }

    @Test("a photo that takes too long is given up, and so is its process; with a longer clock it is done")
    func timedOut() async throws {
        let program = try Program()
        defer { program.remove() }
        var limits = ImageProcessLimits()
        limits.wallClock = .milliseconds(2)
        let pool = ImageProcessPool.forTests(executable: program.path, limits: limits)
        let photo = try Samples.magick("\(Samples.dune) -resize 1000x")
        await #expect { try await pool.compress(photo) } throws: { ($0 as? ImageError)?.code == .timedOut }
        #expect(program.processes().isEmpty)
        #expect(try await pool.compress(photo, variants: [:], timeoutFactor: 30_000).result.bytes.count < 500_000)
        await pool.stop()
    }

    @Test("a process that doesn't become ready in time fails its photo as one that timed out")
    func startTimedOut() async throws {
        let program = try Program()
        defer { program.remove() }
        var limits = ImageProcessLimits()
        limits.start = .milliseconds(1)
        let pool = ImageProcessPool.forTests(executable: program.path, limits: limits)
        let photo = try Samples.magick("-size 300x200 plasma:")
        await #expect { try await pool.compress(photo) } throws: { ($0 as? ImageError)?.code == .timedOut }
        #expect(try await pool.compress(photo, variants: [:], timeoutFactor: 60_000).result.bytes.count < 500_000)
        await pool.stop()
    }

    @Test("a photo that spends its processor time fails with that reason")
    func timeLimit() async throws {
        var limits = ImageProcessLimits()
        limits.processorSeconds = 0
        let pool = ImageProcessPool.forTests(limits: limits)
        let photo = CraftedJPEG(width: 7_000, height: 7_000, scans: 90).bytes
        // A second is granted at least: this takes several.
        var request = ImageRequest()
        (request.maxEdge, request.format) = (7_000, .webp)
        await #expect { try await pool.compress(photo, as: request) } throws: {
            ($0 as? ImageError)?.code == .timeLimit
        }
        await pool.stop()
    }

    @Test("a process is reused beside a program that takes more memory than a process may")
    func largeParent() async throws {
        let program = try Program()
        defer { program.remove() }
        var bytes: [UInt8]? = [UInt8](repeating: 1, count: Int(ImageProcessLimits().residentBytes) + 1 << 20)
        #expect(bytes?.last == 1)
        bytes = nil
        let pool = ImageProcessPool.forTests(executable: program.path)
        let photo = try Samples.magick("-size 300x200 plasma:")
        _ = try await pool.compress(photo)
        let first = try await program.process()
        _ = try await pool.compress(photo)
        #expect(try await program.process() == first)
        await pool.stop()
    }

    @Test("a process that failed a photo is replaced, and one that didn't is reused")
    func replaced() async throws {
        let program = try Program()
        defer { program.remove() }
        let pool = ImageProcessPool.forTests(executable: program.path)
        let photo = try Samples.magick("-size 300x200 plasma:")
        _ = try await pool.compress(photo)
        let first = try await program.process()
        _ = try await pool.compress(photo)
        #expect(try await program.process() == first)
        await #expect { try await pool.compress(Array(photo.prefix(photo.count / 2))) } throws: {
            ($0 as? ImageError)?.code == .truncated
        }
        _ = try await pool.compress(photo)
        #expect(!program.processes().contains(first))
    }

    @Test("a process with more threads than it may have is ended")
    func threadLimit() async throws {
        var limits = ImageProcessLimits()
        limits.threads = 0
        let pool = ImageProcessPool.forTests(limits: limits)
        let photo = try Samples.bytes(Samples.elephants)
        await #expect {
            // The process is checked four times a second.
            for _ in 1...20 { _ = try await pool.compress(photo) }
        } throws: { error in
            let error = error as? ImageError
            return error?.code == .crashed && error?.detail.hasSuffix("threads, at most 0") == true
        }
    }

    @Test("a photo that needs too much memory fails with that reason")
    func memoryLimit() async throws {
        var limits = ImageProcessLimits()
        limits.addressSpace = 330 << 20
        let pool = ImageProcessPool.forTests(limits: limits)
        let photo = try Samples.magick("\(Samples.dune) -resize 7000x -interlace JPEG")
        await #expect { try await pool.compress(photo) } throws: { ($0 as? ImageError)?.code == .memoryLimit }
    }

    @Test("a cancelled caller returns immediately, and the process exits")
    func cancelled() async throws {
        let program = try Program()
        defer { program.remove() }
        let pool = ImageProcessPool.forTests(executable: program.path)
        let photo = try Samples.bytes(Samples.elephants)
        let caller = Task { try await pool.compress(photo) }
        _ = try await program.process()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
    }

    @Test("a photo of too many bytes isn't even sent")
    func tooLarge() async throws {
        var limits = ImageProcessLimits()
        limits.inputBytes = 1_000
        let pool = ImageProcessPool.forTests(executable: "/bin/false", limits: limits)
        await #expect { try await pool.compress([UInt8](repeating: 1, count: 1_001)) } throws: {
            ($0 as? ImageError)?.code == .tooLargeInput
        }
    }

    @Test(
        "a program that is missing or is another is named, with the fix",
        arguments: ["/nowhere/errand-image", "/bin/false"])
    func unavailable(path: String) async throws {
        let pool = ImageProcessPool.forTests(executable: path)
        let photo = try Samples.bytes(Samples.dune)
        await #expect { try await pool.compress(photo) } throws: { error in
            let error = error as? ImageError
            return error?.code == .unavailable && error?.isPermanent == false && "\(error!)".contains(path)
        }
    }

    @Test(
        "a process is locked in: no new rights, a filter on system calls, no capabilities, bounded, behind all others")
    func lockedIn() async throws {
        let program = try Program()
        defer { program.remove() }
        let pool = ImageProcessPool.forTests(executable: program.path)
        _ = try await pool.compress(try Samples.magick("-size 300x200 plasma:"))
        let process = try await program.process()
        let folder = "/proc/\(process)"
        let status = try String(contentsOfFile: folder + "/status", encoding: .utf8)
        for line in ["Seccomp:\t2", "NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"] {
            #expect(status.contains(line))
        }
        func hard(_ name: String, of process: String = "\(process)") throws -> Substring? {
            let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
            let line = limits.split(separator: "\n").first { $0.hasPrefix(name) }
            return line?.dropFirst(name.count).split(separator: " ").dropFirst().first
        }
        #expect(getpriority(Int32(PRIO_PROCESS.rawValue), UInt32(process)) == 10)
        #expect(try hard("Max core file size") == "0")
        #expect(try hard("Max file size") == "0")
        #expect(try hard("Max open files") == "64")
        // The limit counts the threads of all processes of a user, so it can't limit one process.
        #expect(try hard("Max processes") == hard("Max processes", of: "self"))
        #expect(try hard("Max address space") == "1610612736")
        // Only root can list the open files of a process that can't be dumped.
        if let open = try? FileManager.default.contentsOfDirectory(atPath: folder + "/fd"), getuid() == 0 {
            let targets = open.compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/fd/" + $0)
            }
            #expect(targets.allSatisfy { !$0.contains("socket:") && !$0.hasPrefix("/etc") })
        }
    }

    @Test(
        "its session gives way too, where the kernel divides the cores among sessions",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/autogroup")))
    func givesWay() async throws {
        let program = try Program()
        defer { program.remove() }
        let pool = ImageProcessPool.forTests(executable: program.path)
        let photo = try Samples.magick("-size 300x200 plasma:")
        _ = try await pool.compress(photo)
        /// The group and its niceness, as in `/autogroup-7 nice 0`; empty for the group that the machine began with.
        func group(of process: String) throws -> [Substring] {
            try String(contentsOfFile: "/proc/\(process)/autogroup", encoding: .utf8)
                .split(whereSeparator: \.isWhitespace)
        }
        let process = "\(try await program.process())"
        // The kernel accepts one such request per 100 ms, possibly of another process.
        for _ in 0..<100 where try group(of: process).last != "10" {
            try await Task.sleep(for: .milliseconds(20))
            _ = try await pool.compress(photo)
        }
        #expect(try group(of: process).last == "10")
        #expect(try group(of: process).first != group(of: "self").first)
    }

    @Test("it dies with the program that started it, even by SIGKILL")
    func orphan() async throws {
        let program = try Program()
        defer { program.remove() }
        let parent = Foundation.Process()
        parent.executableURL = URL(fileURLWithPath: "/bin/sh")
        // The process has both ends of its input, so only the death of its parent can end it.
        let pipe = program.folder.appendingPathComponent("pipe").path
        parent.arguments = ["-c", "mkfifo \(pipe); exec 3<>\(pipe); \(program.path) 1610612736 <&3 >/dev/null; true"]
        try parent.run()
        _ = try await program.process()
        kill(parent.processIdentifier, SIGKILL)
        for _ in 0..<500 where !program.processes().isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        #expect(program.processes().isEmpty)
    }

    /// `errand-image` with a unique name, so that the test finds its processes.
    struct Program {
        let folder: URL
        let name = "ei-" + UUID().uuidString.prefix(8)
        var path: String { folder.appendingPathComponent(name).path }

        init() throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: ImageProcessPool.built)
        }

        func remove() { try? FileManager.default.removeItem(at: folder) }

        /// The running processes, without zombies.
        func processes() -> [pid_t] {
            let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return all.compactMap { pid_t($0) }.filter { process in
                let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
                return status.hasPrefix("Name:\t\(name)\n") && !status.contains("State:\tZ")
            }
        }

        /// The only process, once it is sandboxed and accepts photos.
        func process() async throws -> pid_t {
            for _ in 0..<1_000 {
                if let process = processes().first {
                    let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
                    if status?.contains("Seccomp:\t2") == true { return process }
                }
                try await Task.sleep(for: .milliseconds(10))
            }
            throw Samples.Failed(command: [path])
        }

        /// The only process, once it has used 50 ms of processor time for its photo.
        func busyProcess() async throws -> pid_t {
            let process = try await process()
            let start = processorTicks(process)
            while processorTicks(process) - start < 5 { try await Task.sleep(for: .milliseconds(1)) }
            return process
        }

        /// In user mode, in hundredths of a second.
        private func processorTicks(_ process: pid_t) -> Int {
            let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
            return Int(stat.split(separator: " ").dropFirst(13).first ?? "") ?? 0
        }
    }
}
