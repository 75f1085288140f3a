#include <libpq-fe.h>
/* Glibc's Swift module leaves eventfd out. */
#include <sys/eventfd.h>
