import Foundation
import Synchronization
import Testing

/// Another wall clock for a program. Its monotonic clock, and so each delay, stays right.
enum FakeClock {
    /// libfaketime. Nil if it is not installed; scripts/need.sh installs it for `make faults`.
    private static let library = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib"))?.sorted()
        .map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
        .first { FileManager.default.fileExists(atPath: $0) }

    static var isThere: Bool { library != nil }

    /// A library that leaves timers alone. libfaketime takes each of them for one of the wall clock, and Swift's sleeps
    /// would end at once or never (its issue 378).
    private static let timers = Task {
        try await compile(
            """
            #include <sys/syscall.h>
            #include <sys/timerfd.h>
            #include <unistd.h>
            int timerfd_settime(int timer, int flags, const struct itimerspec *value, struct itimerspec *old) {
                return syscall(SYS_timerfd_settime, timer, flags, value, old);
            }
            int timerfd_gettime(int timer, struct itimerspec *value) {
                return syscall(SYS_timerfd_gettime, timer, value);
            }
            """)
    }

    /// A library that puts the wall clock ahead by the size of a file, in seconds.
    ///
    /// PostgreSQL looks at the clock in signal handlers, where libfaketime, which locks and reads files, is not safe.
    private static let server = Task {
        try await compile(
            """
            #define _GNU_SOURCE
            #include <fcntl.h>
            #include <stdlib.h>
            #include <string.h>
            #include <sys/stat.h>
            #include <sys/syscall.h>
            #include <sys/time.h>
            #include <time.h>
            #include <unistd.h>
            static const char *path;
            __attribute__((constructor)) static void begin(void) {
                const char *set = getenv("FAKE_CLOCK");
                /* PostgreSQL writes its titles over the environment. */
                if (set) path = strdup(set);
            }
            int clock_gettime(clockid_t clock, struct timespec *now) {
                struct stat file;
                int code = syscall(SYS_clock_gettime, clock, now);
                int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
                if (code == 0 && is_wall && path && syscall(SYS_stat, path, &file) == 0) now->tv_sec += file.st_size;
                return code;
            }
            int gettimeofday(struct timeval *restrict now, void *restrict zone) {
                struct timespec exact;
                int code = clock_gettime(CLOCK_REALTIME, &exact);
                now->tv_sec = exact.tv_sec;
                now->tv_usec = exact.tv_nsec / 1000;
                return code;
            }
            time_t time(time_t *now) {
                struct timespec exact;
                clock_gettime(CLOCK_REALTIME, &exact);
                if (now) *now = exact.tv_sec;
                return exact.tv_sec;
            }
            """)
    }

    private static func compile(_ source: String) async throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("clock-\(UUID().uuidString).so").path
        try await shell("gcc -shared -fPIC -o '\(path)' -x c - << 'END'\n\(source)\nEND")
        try await shell("chmod 755 '\(path)'")
        if deleted.withLock({ paths in
            paths.append(path)
            return paths.count == 1
        }) {
            atexit {
                FakeClock.deleted.withLock { for path in $0 { try? FileManager.default.removeItem(atPath: path) } }
            }
        }
        return path
    }
    /// The libraries' paths, which are deleted with the end of the process.
    private static let deleted = Mutex<[String]>([])

    /// The environment of a program whose clock is wrong by `offset`, such as `-1d`.
    static func environment(_ offset: String) async throws -> [String: String] {
        [
            "LD_PRELOAD": try await timers.value + ":" + #require(library), "FAKETIME": offset,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        ]
    }

    /// Deletes what libfaketime leaves behind if its process is killed.
    static func removeTraces(of process: Int32) {
        for name in ["faketime_shm_\(process)", "sem.faketime_sem_\(process)"] {
            try? FileManager.default.removeItem(atPath: "/dev/shm/\(name)")
        }
    }

    /// Starts the server of a stopped cluster under a clock that ``set(_:of:)`` changes while it runs.
    static func start(_ cluster: KillableCluster) async throws {
        try await set(.zero, of: cluster)
        try await shell(
            """
            cd '\(cluster.folder.path)'
            as_server=()
            [ "$(id -u)" -ne 0 ] || as_server=(runuser -u "$(stat -c %U data)" --)
            "${as_server[@]}" env LD_PRELOAD='\(try await server.value)' FAKE_CLOCK="$PWD/clock" \\
                /usr/lib/postgresql/"$(cat data/PG_VERSION)"/bin/pg_ctl start --wait --silent \\
                --pgdata "$PWD/data" --log "$PWD/postgres.log" > /dev/null 2>&1 < /dev/null
            """)
    }

    /// Moves the clock of the server to `ahead` of the real time.
    static func set(_ ahead: Duration, of cluster: KillableCluster) async throws {
        try await shell("truncate -s \(ahead.components.seconds) '\(cluster.folder.path)/clock'")
    }
}
