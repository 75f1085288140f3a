#ifndef CPROCESS_H
#define CPROCESS_H

/* Protects the secrets in this process's memory: it writes no core dump, no debugger of the same user can attach, and
 * its files in /proc belong to root. exec ends the protection. Returns 0, or the errno of the failed step. */
int process_hide_memory(void);

#endif
