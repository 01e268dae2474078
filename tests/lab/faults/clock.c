/* The date of a process, and of those that it starts, is changed by the seconds that stand in the file
   LAB_CLOCK, at any time. Clocks that measure durations stay as they are. Loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *changed;

static long long by(void) {
    const char *file = changed ? NULL : getenv("LAB_CLOCK");
    if (file) {
        int number = open(file, O_RDONLY | O_CLOEXEC);
        if (number >= 0) {
            void *there = mmap(NULL, sizeof(long long), PROT_READ, MAP_SHARED, number, 0);
            if (there != MAP_FAILED) changed = there;
            close(number);
        }
    }
    return changed ? *changed : 0;
}

int clock_gettime(clockid_t clock, struct timespec *told) {
    int failed = syscall(SYS_clock_gettime, clock, told);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) told->tv_sec += by();
    return failed;
}

int gettimeofday(struct timeval *restrict told, void *restrict zone) {
    int failed = syscall(SYS_gettimeofday, told, zone);
    if (!failed && told) told->tv_sec += by();
    return failed;
}

time_t time(time_t *told) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (told) *told = now.tv_sec;
    return now.tv_sec;
}
