#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "name the system calls' architecture of this processor"
#endif

static int limit(int resource, uint64_t value) {
    struct rlimit both = {value, value};
    return setrlimit(resource, &both) == 0 ? 0 : errno;
}

/* The file with the niceness of the session, until it is set; then -1. */
static int autogroup = -1;

static void give_way(void) {
    setpriority(PRIO_PROCESS, 0, SANDBOX_NICENESS);
    /* A session of its own, because the caller's session must keep its priority. */
    if (setsid() != -1) autogroup = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    sandbox_give_way();
}

void sandbox_give_way(void) {
    if (autogroup < 0) return;
    char niceness[4];
    int length = snprintf(niceness, sizeof niceness, "%d", SANDBOX_NICENESS);
    if (write(autogroup, niceness, (size_t)length) < 0 && errno == EAGAIN) return;
    close(autogroup);
    autogroup = -1;
}

int sandbox_enter(SandboxLimits limits) {
    int failure = 0;
    /* Older kernels lack close_range. There, the parent has closed the descriptors already. */
    syscall(SYS_close_range, 3u, ~0u, 0u);
    /* Before the process loses the right to write to its own files in /proc. */
    give_way();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
    if (prctl(PR_SET_DUMPABLE, 0) != 0) return errno;
    if ((failure = limit(RLIMIT_CORE, 0)) != 0) return failure;
    if ((failure = limit(RLIMIT_NOFILE, limits.open_files)) != 0) return failure;
    return limit(RLIMIT_AS, limits.address_space);
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define VERDICT(verdict) BPF_STMT(BPF_RET | BPF_K, verdict)
#define DENY(error) VERDICT(SECCOMP_RET_ERRNO | (error))
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), VERDICT(SECCOMP_RET_ALLOW)

/* The allowed system calls. All others are denied, including new ones of later kernels. */
static struct sock_filter filter[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0),
    VERDICT(SECCOMP_RET_KILL_PROCESS),

    LOAD(nr),
    /* Standard input and output. */
    ALLOW(read), ALLOW(readv), ALLOW(write), ALLOW(writev), ALLOW(close), ALLOW(fstat), ALLOW(lseek),
    /* Memory. */
    ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise), ALLOW(brk),
    /* Threads and locks. */
    ALLOW(futex), ALLOW(set_robust_list), ALLOW(rseq), ALLOW(sched_yield), ALLOW(sched_getaffinity), ALLOW(gettid),
    ALLOW(getpid), ALLOW(membarrier), ALLOW(getcpu), ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn),
    ALLOW(sigaltstack), ALLOW(restart_syscall), ALLOW(ppoll), ALLOW(exit), ALLOW(exit_group),
    /* Time, random numbers, and statistics of the process. */
    ALLOW(clock_gettime), ALLOW(clock_getres), ALLOW(clock_nanosleep), ALLOW(nanosleep), ALLOW(gettimeofday),
    ALLOW(getrandom), ALLOW(getrusage), ALLOW(sysinfo), ALLOW(uname),
#ifdef SYS_poll
    ALLOW(poll),
#endif
    /* clone3 has its flags behind a pointer, which a filter can't read. Without clone3, glibc uses clone. The pool
     * limits the number of threads: RLIMIT_NPROC counts the threads of all the user's processes, so it rejected
     * photos. */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1), DENY(ENOSYS),

    /* The checks below read arguments, so each has its own return. */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
    VERDICT(SECCOMP_RET_ALLOW),
    DENY(EPERM),

    /* GLib names its threads. */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_NAME, 0, 1),
    VERDICT(SECCOMP_RET_ALLOW),
    DENY(EPERM),

    /* Processor time is raised for each photo. The other limits are fixed. Only for this process (0). */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 8),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 5),
    LOAD(args[1]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CPU, 2, 0),
    LOAD(args[2]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    VERDICT(SECCOMP_RET_ALLOW),
    DENY(EPERM),

    /* abort() signals its own process only. sandbox_lock fills in the process id. */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    VERDICT(SECCOMP_RET_ALLOW),
    DENY(EPERM),

    DENY(EPERM),
};

/* More allowed system calls, for a process that may read files. They follow the load of the number. */
static const struct sock_filter reading[] = {
    ALLOW(newfstatat), ALLOW(statx), ALLOW(statfs), ALLOW(fstatfs), ALLOW(faccessat), ALLOW(faccessat2),
    ALLOW(readlinkat), ALLOW(getdents64), ALLOW(pread64), ALLOW(fcntl), ALLOW(getcwd), ALLOW(getuid), ALLOW(geteuid),
    ALLOW(getgid), ALLOW(getegid),
#ifdef SYS_access
    ALLOW(access), ALLOW(readlink), ALLOW(stat), ALLOW(lstat),
#endif
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
    LOAD(args[2]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1, 0),
    VERDICT(SECCOMP_RET_ALLOW),
    DENY(EACCES),
};

enum {
    FILTER_LENGTH = sizeof filter / sizeof filter[0],
    READING_LENGTH = sizeof reading / sizeof reading[0],
    OWN_PROCESS = FILTER_LENGTH - 4,
    AFTER_NUMBER = 4
};

static int drop_capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    /* A process without capabilities may lack the right to call capset. */
    struct __user_cap_data_struct held[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
    if (syscall(SYS_capget, &header, held) == 0 && memcmp(held, none, sizeof none) == 0) return 0;
    return syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

/* /proc/self/status, opened before files can't be. ru_maxrss of getrusage begins with the peak of the process that
 * started this one: beside a worker of 400 MB each photo got a new process. */
static int status = -1;

int sandbox_lock(int may_read_files) {
    int failure = 0;
    status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if ((failure = limit(RLIMIT_FSIZE, 0)) != 0) return failure;
    if ((failure = drop_capabilities()) != 0) return failure;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    filter[OWN_PROCESS].k = (uint32_t)getpid();
    static struct sock_filter whole[FILTER_LENGTH + READING_LENGTH];
    size_t more = may_read_files ? READING_LENGTH : 0;
    memcpy(whole, filter, AFTER_NUMBER * sizeof filter[0]);
    memcpy(whole + AFTER_NUMBER, reading, more * sizeof reading[0]);
    memcpy(whole + AFTER_NUMBER + more, filter + AFTER_NUMBER, sizeof filter - AFTER_NUMBER * sizeof filter[0]);
    struct sock_fprog program = {(unsigned short)(FILTER_LENGTH + more), whole};
    /* TSYNC: the filter applies to the running threads of libvips too. */
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0 ? 0 : errno;
}

int sandbox_allow_seconds(uint64_t seconds) {
    struct rusage used;
    struct rlimit bound;
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &bound) != 0) return errno;
    bound.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds + 1;
    return setrlimit(RLIMIT_CPU, &bound) == 0 ? 0 : errno;
}

uint64_t sandbox_peak_bytes(void) {
    char text[4096];
    ssize_t length = 0;
    if (status < 0 || lseek(status, 0, SEEK_SET) != 0 || (length = read(status, text, sizeof text - 1)) <= 0) return 0;
    text[length] = 0;
    const char *line = strstr(text, "\nVmHWM:");
    return line ? strtoull(line + strlen("\nVmHWM:"), NULL, 10) * 1024 : 0;
}
