#ifndef CPROCESS_H
#define CPROCESS_H

/* Keeps this process's memory, which holds secrets, out of core dumps and from other processes of its user: no
 * debugger attaches, and its files in /proc belong to root. It holds until another program is started. Returns 0, or
 * the errno of the step that failed. */
int process_hide_memory(void);

#endif
