#include "CProcess.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

int process_notify(const char *path, const char *text) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length < 2 || length >= sizeof(address.sun_path)) return EINVAL;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = '\0';
    int handle = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (handle < 0) return errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    ssize_t sent = sendto(handle, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    int failure = sent < 0 ? errno : 0;
    close(handle);
    return failure;
}
