#ifndef CVIPS_SANDBOX_H
#define CVIPS_SANDBOX_H

#include <stdint.h>

/* What a process may use at most. */
typedef struct {
    uint64_t address_space; /* bytes of virtual memory */
    uint64_t open_files;    /* descriptors, all in all */
} SandboxLimits;

/* First of all: closes every descriptor above standard error, ties the process's life to its parent's, bounds its
 * memory and forbids core dumps. Returns 0, or the errno of the step that failed. */
int sandbox_enter(SandboxLimits limits);

/* Last, once every library has loaded what it needs: from here on there is no way to open a file or a socket, to start
 * a process, to signal another or to write a file; capabilities are gone. Threads, memory, and reading and
 * writing what is open remain. It can't be undone. Returns 0, or the errno of the step that failed. */
int sandbox_lock(void);

/* Lets the process use `seconds` more of processor time from now on, before the kernel ends it by SIGXCPU. */
int sandbox_allow_seconds(uint64_t seconds);

/* The most bytes that were resident at any time, so far. */
uint64_t sandbox_peak_bytes(void);

#endif
