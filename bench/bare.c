/* A bare epoll loop: sends fixed bytes on every connection, counts its reads, and parses nothing. Its rate per
 * second of CPU time is the upper limit that the kernel sets for a load generator with one thread; see bench/generators.
 *
 * bare HOST PORT CONNECTIONS SECONDS; prints the number of responses; each read counts as one. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int count, char **words) {
    if (count != 5) {
        fprintf(stderr, "bare HOST PORT CONNECTIONS SECONDS\n");
        return 2;
    }
    int connections = atoi(words[3]);
    double seconds = atof(words[4]);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    char request[256];
    int length = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s:%s\r\n\r\n", words[1], words[2]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(words[2]))};
    inet_pton(AF_INET, words[1], &address.sin_addr);
    int epoll = epoll_create1(0);
    for (int i = 0; i < connections; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
            perror("connect");
            return 3;
        }
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
        if (write(fd, request, length) != length) return 3;
    }
    struct epoll_event events[256];
    static char buffer[65536];
    long responses = 0;
    double until = now() + seconds;
    while (now() < until) {
        int ready = epoll_wait(epoll, events, 256, 50);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (read(fd, buffer, sizeof buffer) <= 0) return 3;
            responses++;
            if (write(fd, request, length) != length) return 3;
        }
    }
    printf("%ld\n", responses);
    return 0;
}
