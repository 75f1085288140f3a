#ifndef CSANDBOX_H
#define CSANDBOX_H

#include <stdint.h>

/* What a process may use at most. */
typedef struct {
    uint64_t address_space; /* bytes of virtual memory */
    uint64_t open_files;    /* descriptors, all in all */
} SandboxLimits;

/* A photo takes a core for a third of a second. Whatever else runs there, jobs of milliseconds and the database, goes
 * first. */
#define SANDBOX_NICENESS 10

/* First of all: closes every descriptor above standard error, gives way to the other processes of the machine, ties the
 * process's life to its parent's, bounds its memory and forbids core dumps. Returns 0, or the errno of the step that
 * failed. */
int sandbox_enter(SandboxLimits limits);

/* Has its whole session give way, unless it does already. Where Linux divides the cores among sessions ("autogroup",
 * see sched(7)) niceness counts only within one, and a database, whose session is another, would share them evenly
 * with photos. The kernel takes one such wish in 100 ms of all processes together: ask again before each photo. */
void sandbox_give_way(void);

/* Last, once every library has loaded what it needs: from here on there is no way to open a file or a socket, to start
 * a process, to signal another or to write a file; capabilities are gone. Threads, memory, and reading and
 * writing what is open remain. It can't be undone. Returns 0, or the errno of the step that failed. */
int sandbox_lock(void);

/* Lets the process use `seconds` more of processor time from now on, before the kernel ends it by SIGXCPU. */
int sandbox_allow_seconds(uint64_t seconds);

/* The most bytes that were resident at any time, so far. */
uint64_t sandbox_peak_bytes(void);

#endif
