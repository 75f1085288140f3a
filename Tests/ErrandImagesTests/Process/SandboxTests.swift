import ErrandImages
import Foundation
import Testing

@Suite("The sandbox") struct SandboxTests {
    /// A program that enters the sandbox like `errand-image`, and then tries the calls of an attacker.
    private static let intruder = """
        #define _GNU_SOURCE
        #include "CSandbox.h"
        #include <errno.h>
        #include <fcntl.h>
        #include <pthread.h>
        #include <signal.h>
        #include <stdio.h>
        #include <sys/mman.h>
        #include <sys/prctl.h>
        #include <sys/ptrace.h>
        #include <sys/resource.h>
        #include <sys/socket.h>
        #include <unistd.h>
        static void *nothing(void *all) { return all; }
        #define DENIED (errno == EPERM || errno == ENOSYS || errno == EACCES)
        #define TRY(what) printf("%s: %s\\n", #what, (what) < 0 && DENIED ? "denied" : "allowed")
        int main(int count, char **arguments) {
            SandboxLimits limits = {1ull << 30, 64};
            struct rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
            char *none[] = {0};
            pthread_t thread;
            if (sandbox_enter(limits) != 0 || sandbox_lock(count > 1) != 0) return 1;
            TRY(open("/etc/passwd", O_RDONLY));
            TRY(open("/tmp/errand-intruder", O_CREAT | O_WRONLY, 0600));
            TRY(socket(AF_INET, SOCK_STREAM, 0));
            TRY(socket(AF_UNIX, SOCK_STREAM, 0));
            TRY(fork());
            TRY(vfork());
            TRY(execve("/bin/true", none, none));
            TRY(kill(getppid(), SIGTERM));
            TRY(ptrace(PTRACE_TRACEME, 0, 0, 0));
            TRY(memfd_create("x", 0));
            TRY(unlink("/tmp/errand-intruder"));
            TRY(setrlimit(RLIMIT_AS, &more));
            TRY(prctl(PR_SET_DUMPABLE, 1));
            TRY(chdir("/"));
            printf("thread: %s\\n", pthread_create(&thread, 0, nothing, 0) == 0 ? "allowed" : "denied");
            printf("time: %s\\n", sandbox_allow_seconds(5) == 0 ? "allowed" : "denied");
            fflush(stdout);
            return 0;
        }
        """

    @Test("leaves threads and time, and denies files, sockets, processes, signals and wider limits")
    func denies() throws {
        #expect(try Self.allowed() == ["thread: allowed", "time: allowed"])
    }

    @Test("a process that draws cards may read files too, and nothing else")
    func reads() throws {
        let reading = #"open("/etc/passwd", O_RDONLY): allowed"#
        #expect(try Self.allowed("cards") == [reading[...], "thread: allowed", "time: allowed"])
    }

    /// What the intruder could do, of sixteen things.
    private static func allowed(_ arguments: String...) throws -> [Substring] {
        let sources = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../Sources/CSandbox")
            .standardized
            .path
        let said = try Samples.withFolder { folder in
            let (source, program) = (
                folder.appendingPathComponent("intruder.c"), folder.appendingPathComponent("intruder").path
            )
            try Data(intruder.utf8).write(to: source)
            try Samples.run(
                "cc", "-I\(sources)/include", source.path, "\(sources)/sandbox.c", "-o", program, "-pthread")
            let command = ([program] + arguments).joined(separator: " ")
            return String(decoding: try Samples.run("sh", "-c", command), as: UTF8.self).split(separator: "\n")
        }
        #expect(said.count == 16)
        return said.filter { $0.hasSuffix(": allowed") }
    }
}
