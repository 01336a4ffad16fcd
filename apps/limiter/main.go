// An application that responds immediately and, if given a limit, limits requests with the usual Go library. `make limiter` builds it.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/time/rate"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "where to listen; port 0 takes a free one")
	limit := flag.Int("limit", 0, "requests that pass in a second, and as many at once; all if 0")
	flag.Parse()
	// The same number of threads as the origin.
	runtime.GOMAXPROCS(1)

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot listen:", err)
		os.Exit(3)
	}
	// The parent process reads the address from this line.
	fmt.Printf("listening on http://%s\n", listener.Addr())

	body := []byte(strings.Repeat("x", 64))
	var limiter *rate.Limiter
	if *limit > 0 {
		limiter = rate.NewLimiter(rate.Limit(*limit), *limit)
	}
	handler := func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Type", "text/plain")
		if limiter != nil && !limiter.Allow() {
			response.WriteHeader(http.StatusTooManyRequests)
			return
		}
		// A write fails if the client has closed its connection; that is no error of this application.
		_, _ = response.Write(body)
	}

	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-asked
		os.Exit(0)
	}()
	if err := http.Serve(listener, http.HandlerFunc(handler)); err != nil {
		fmt.Fprintln(os.Stderr, "cannot serve:", err)
		os.Exit(3)
	}
}
