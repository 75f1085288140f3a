#include "CProcess.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static int argument_count;
static char **arguments;

/* glibc passes them to constructors too. */
__attribute__((constructor)) static void take_arguments(int count, char **values) {
    argument_count = count;
    arguments = values;
}

int process_argument_count(void) { return argument_count; }

const char *process_argument(int index) { return arguments[index]; }

int process_hide_memory(void) {
    struct rlimit core;
    /* A core pattern that pipes to a program ignores the limit below. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return errno;
    if (getrlimit(RLIMIT_CORE, &core) != 0) return errno;
    /* Child processes inherit this limit. A service may lack the right to set it, and have it already. */
    if (core.rlim_cur == 0 && core.rlim_max == 0) return 0;
    core.rlim_cur = core.rlim_max = 0;
    return setrlimit(RLIMIT_CORE, &core) == 0 ? 0 : errno;
}

unsigned long process_allow_open_files(unsigned long most) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
    if (files.rlim_cur >= most) return files.rlim_cur;
    files.rlim_cur = most < files.rlim_max ? most : files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 0;
}
