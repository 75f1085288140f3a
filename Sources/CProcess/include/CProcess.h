#ifndef CPROCESS_H
#define CPROCESS_H

/* Protects the secrets in this process's memory: it writes no core dump, no debugger of the same user can attach, and
 * its files in /proc belong to root. exec ends the protection. Returns 0, or the errno of the failed step. */
int process_hide_memory(void);

/* The program's arguments, its name first, as the loader passes them. Swift's CommandLine looks for them in front of
 * the environment, where they are not if a preloaded library has moved that. */
int process_argument_count(void);
const char *process_argument(int index);

/* Lets the process have this many open files at once, as far as its hard limit allows. Returns how many it may have. */
unsigned long process_allow_open_files(unsigned long most);

/* Sends a text to a Unix datagram socket: its path, or `@` and its name in the abstract namespace. Returns 0, or the
 * errno of the failed step. */
int process_notify(const char *socket, const char *text);

#endif
