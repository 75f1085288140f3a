#ifndef CSANDBOX_H
#define CSANDBOX_H

#include <stdint.h>

/* The limits of a process. */
typedef struct {
    uint64_t address_space; /* bytes of virtual memory */
    uint64_t open_files;    /* descriptors, including the standard ones */
} SandboxLimits;

/* A photo takes a core for a third of a second. Jobs of milliseconds and the database on that core run first. */
#define SANDBOX_NICENESS 10

/* Call this first. Closes every descriptor above standard error, lowers the process's priority, kills the process when
 * its parent dies, limits its memory and disables core dumps. Returns 0, or the errno of the failed step. */
int sandbox_enter(SandboxLimits limits);

/* Lowers the priority of the process's session, unless it is low already. If Linux divides the cores among sessions
 * ("autogroup", see sched(7)), niceness counts only within one session. A database has another session and would share
 * the cores evenly with photos. The kernel accepts one such request per 100 ms for all processes together, so call this
 * before each photo. */
void sandbox_give_way(void);

/* Call this last, after every library has loaded its files. From now on the process can't open a file or a socket,
 * start a process, signal another process or use a capability. It can still use threads and memory, and read and write
 * its open descriptors. With `may_read_files` it can open files for reading, as text needs fonts. This can't be undone.
 * Returns 0, or the errno of the failed step. */
int sandbox_lock(int may_read_files);

/* Allows the process `seconds` more of processor time. Then the kernel kills it with SIGXCPU. */
int sandbox_allow_seconds(uint64_t seconds);

/* The peak of resident memory so far, in bytes. 0 before sandbox_lock, and where /proc isn't mounted. */
uint64_t sandbox_peak_bytes(void);

#endif
