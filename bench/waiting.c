/* Waits for moments at a fixed interval, in several ways, and prints the lateness and the CPU time of each way. See
 * docs/design/pacing.md for the conclusions.
 *
 * waiting INTERVAL_US COUNT */

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

static long long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, int epoll, long long gap_ns, int moments, long long spin_ns) {
    long long *late = malloc(sizeof *late * moments);
    long long planned = now(CLOCK_MONOTONIC) + gap_ns;
    long long used = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < moments; i++, planned += gap_ns) {
        struct epoll_event event;
        long long left;
        while ((left = planned - now(CLOCK_MONOTONIC)) > spin_ns) {
            struct timespec wait = {(left - spin_ns) / 1000000000LL, (left - spin_ns) % 1000000000LL};
            epoll_pwait2(epoll, &event, 1, &wait, NULL);
        }
        while (now(CLOCK_MONOTONIC) < planned) {}
        late[i] = now(CLOCK_MONOTONIC) - planned;
    }
    used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
    qsort(late, moments, sizeof *late, by_size);
    printf("%-34s p50 %7.1f  p99 %7.1f  p99.9 %8.1f us late, %5.1f %% of a processor\n", name, late[moments / 2] / 1e3,
           late[moments * 99 / 100] / 1e3, late[moments * 999LL / 1000] / 1e3,
           100.0 * used / (gap_ns * (double)moments));
    free(late);
}

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "waiting GAP_US MOMENTS\n");
        return 2;
    }
    long long gap_ns = atoll(words[1]) * 1000;
    int moments = atoi(words[2]);
    int epoll = epoll_create1(0);
    measure("epoll_pwait2, slack 50 us", epoll, gap_ns, moments, 0);
    prctl(PR_SET_TIMERSLACK, 1);
    measure("epoll_pwait2, slack 1 ns", epoll, gap_ns, moments, 0);
    measure("the same, last 20 us spun", epoll, gap_ns, moments, 20000);
    measure("the same, last 100 us spun", epoll, gap_ns, moments, 100000);
    struct sched_param priority = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) == 0)
        measure("epoll_pwait2, SCHED_FIFO", epoll, gap_ns, moments, 0);
    else
        puts("SCHED_FIFO: not allowed");
    return 0;
}
