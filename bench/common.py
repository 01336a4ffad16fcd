"""Shared by the benchmarks: finds the program, runs an origin, and runs a client on its own processor."""

import contextlib
import math
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The program that the variable names, or the release build of this checkout.
HOPTAX = pathlib.Path(os.environ.get("HOPTAX", ROOT / "target" / "release" / "hoptax")).resolve()


# Loads that compare builds of hoptax.
LOADS = {
    "HTTP/1.1, 64 connections": ["-c", "64"],
    "HTTP/1.1, 1 connection": ["-c", "1"],
    "HTTP/2, 8 connections": ["-c", "8", "--protocol", "http2"],
}
# Coprime to the numbers of connections, so that successive responses on a connection differ; few enough for the dynamic table of HPACK.
DIFFERENT_HEADS = 31


def loads(folder):
    """Titles and options of the loads. Response heads either repeat or differ in a header, as a request id does."""
    targets = pathlib.Path(folder) / "targets"
    targets.write_text("".join(f"/?header=x-id:{number:08}\n" for number in range(DIFFERENT_HEADS)))
    for title, options in LOADS.items():
        yield f"{title}, heads repeat", options
        yield f"{title}, heads differ", [*options, "--requests", str(targets)]


def builds():
    """The two builds to compare, from the command line; the second is that of this checkout by default."""
    if len(sys.argv) not in (2, 3):
        sys.exit(f"usage: {sys.argv[0]} BASE [PROGRAM]")
    return sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else str(HOPTAX)


def processors():
    """The processors of client and server: two different ones if there are two."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


@contextlib.contextmanager
def origin(processor, *more):
    """Runs an origin with these arguments and yields its URL."""
    process = subprocess.Popen(
        [HOPTAX, "lab", "origin", "--listen", "127.0.0.1:0", *more],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {processor}),
    )
    try:
        line = process.stdout.readline()
        match = re.search(r"http://\S+", line)
        if not match:
            sys.exit(f"the origin does not listen: {line!r}")
        yield match.group(0)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def tool(name):
    """The path of another generator, from `make crosscheck-tools` or PATH; None if it is not installed."""
    local = ROOT / ".tools" / "bin" / name
    return str(local) if local.exists() else shutil.which(name)


def run_and_peak(command, processor):
    """Runs a client. Returns its output, its CPU time, user and system, in seconds, and its peak resident memory in KiB."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {processor}),
    )
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # 4 is void: the result withholds its numbers, but keeps `book`, its counts of requests.
    if process.returncode not in (0, 4):
        sys.exit(f"{command[0]} exited with code {process.returncode}")
    return output, used.ru_utime + used.ru_stime, used.ru_maxrss


def t_of(freedom, confidence=0.95):
    """The two-sided critical value of Student's distribution, by bisection of its integrated density."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)

    def within(t, steps=2000):
        # Simpson's rule from 0 to t, doubled.
        width = t / steps
        density = lambda x: scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
        inner = sum((4 if step % 2 else 2) * density(step * width) for step in range(1, steps))
        return 2 * width / 3 * (density(0) + inner + density(t))

    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < confidence else (low, middle)
    return (low + high) / 2


def median_and_range(values):
    """The median, with the minimum and the maximum."""
    return f"{statistics.median(values):,.3g} [{min(values):,.3g}, {max(values):,.3g}]"
