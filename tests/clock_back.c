/* The time of day an hour back, as soon as the file CLOCK_BACK is there. To be preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long back(void) {
    const char *path = getenv("CLOCK_BACK");
    return path && !access(path, F_OK) ? 3600 : 0;
}

int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*truly)(clockid_t, struct timespec *);
    if (!truly) truly = dlsym(RTLD_NEXT, "clock_gettime");
    int result = truly(which, now);
    if (!result && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) now->tv_sec -= back();
    return result;
}

time_t time(time_t *kept) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept) *kept = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec precise;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return result;
}
