"""Runs the commands of a page in a folder of its own, with the servers that they need, and leaves no process behind.

This program is the first process (PID 1) of its namespace: all others are its children, or were reparented to it.
"""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pages as book

# Python packages that commands of pages use, and their programs.
PACKAGES = book.ROOT / ".tools" / "book"
# Far longer than any command of a page.
LIMIT_S = 600
# Time limit for a server to listen, and to end after a signal.
SERVER_S = 90
# Time limit for processes that a command started to end after it.
LEFT_S = 10
LISTENING = "0A"


class Failure(Exception):
    """The reason why a command did not end as its page says."""


@dataclasses.dataclass
class Counts:
    """The outcomes of the commands of all pages."""

    run: int = 0
    shortened: int = 0
    not_run: int = 0

    def __str__(self):
        return f"{self.run} commands run, {self.shortened} of them shortened or with other names; {self.not_run} not run"


@dataclasses.dataclass
class Server:
    """A server that runs until the page ends or another server takes its port."""

    text: str
    port: int
    process: subprocess.Popen


def is_listening(port):
    """True if a TCP socket listens on this port; tested without a connection."""
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENING and int(words[1].rsplit(":", 1)[1], 16) == port:
                return True
    return False


class Run:
    """A page that runs."""

    def __init__(self, page, folder, programs, log):
        self.page, self.log = page, log
        self.folder = folder / page.name.removesuffix(".md").replace("/", "-")
        home = self.folder.with_name(self.folder.name + "-home")
        self.folder.mkdir()
        home.mkdir()
        # Envoy stays in the usual cache. All other files of the user are in this folder, and no command uses a proxy of the user.
        cache = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
        is_kept = lambda name: not (name.startswith("XDG_") or name.lower().endswith("_proxy") or name == "HOPTAX_STORE")
        self.environment = {
            **{name: value for name, value in os.environ.items() if is_kept(name)},
            "HOME": str(home), "XDG_CACHE_HOME": cache, "PATH": f"{programs}:{PACKAGES / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(PACKAGES), "ROOT": str(book.ROOT),
        }
        self.servers, self.beside = [], []

    def start(self, text):
        self.log.write(f"\n$ {text}\n")
        self.log.flush()
        # A command fails if any part of its pipe fails.
        return subprocess.Popen(
            ["bash", "-c", f"set -o pipefail\n{text}"], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True,
        )

    def end(self, process, text, exits):
        """Waits until a command ends, and fails if its exit code is unexpected."""
        try:
            code = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise Failure(f"`{text}` did not end within {LIMIT_S} s") from None
        if code not in exits:
            raise Failure(f"`{text}` ended with {code}, not {' or '.join(map(str, exits))}")

    def run(self, text, exits=(0,)):
        self.end(self.start(text), text, exits)

    def serve(self, text, port):
        """Starts a server, after ending one that has its port, and waits until it listens."""
        for server in [server for server in self.servers if server.port == port]:
            self.stop(server)
        process = self.start(f"exec {text.removesuffix('&').rstrip()}")
        server = Server(text, port, process)
        self.servers.append(server)
        deadline = time.monotonic() + SERVER_S
        while not is_listening(port):
            if process.poll() is not None:
                raise Failure(f"`{text}` ended with {process.returncode} before it listened on port {port}")
            if time.monotonic() > deadline:
                raise Failure(f"`{text}` does not listen on port {port} after {SERVER_S} s")
            time.sleep(0.05)

    def stop(self, server):
        """Ends a server as Ctrl-C or its service manager would, and fails if it had ended before."""
        self.servers.remove(server)
        if server.process.poll() is not None:
            raise Failure(f"`{server.text}` ended by itself, with {server.process.returncode}")
        server.process.terminate()
        try:
            server.process.wait(SERVER_S)
        except subprocess.TimeoutExpired:
            raise Failure(f"`{server.text}` did not end within {SERVER_S} s after SIGTERM") from None
        if server.process.returncode not in (0, -signal.SIGTERM):
            raise Failure(f"`{server.text}` ended with {server.process.returncode} after SIGTERM")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def prepare(self):
        """Writes the files that the page needs or shows, and starts its servers."""
        for name, source in self.page.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (book.ROOT / source).is_dir() else shutil.copyfile)(book.ROOT / source, path)
        for name, text in self.page.texts.items():
            self.write(name, text)
        # A command may stand above the block with its file.
        for shown in reversed(self.page.shown()):
            self.write(shown.name, shown.text)
        for step in self.page.before:
            if "serve" in step:
                self.serve(step["serve"], step["port"])
            else:
                self.run(step["run"], step.get("exits", [0]))

    def command(self, command):
        """Runs a command of the page."""
        entry = command.entry
        exits = entry.get("exits", [0])
        if "serves" in entry:
            self.serve(command.run, entry["serves"])
        elif entry.get("beside"):
            self.beside.append((self.start(command.run), command.run, exits))
        else:
            self.run(command.run, exits)
            while self.beside:
                self.end(*self.beside.pop())
        for text in entry.get("then", []):
            self.run(text)

    def finish(self):
        """Ends all processes. A process that a command left behind is a failure, unless a command already failed."""
        failures = []
        for server in list(reversed(self.servers)):
            try:
                self.stop(server)
            except Failure as failure:
                failures.append(str(failure))
        for _ in range(int(LEFT_S / 0.1)):
            if not (left := processes()):
                break
            time.sleep(0.1)
        if left := processes():
            failures.append(f"processes are left: {', '.join(left)}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        return failures


def processes():
    """The names of all other running processes of this namespace; reaps those that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    names = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if int(folder.name) != os.getpid() and state != "Z":
                names.append((folder / "comm").read_text().strip())
    return names


def told(command):
    """The line that reports a command that ran."""
    return command.run if command.run == command.text else f"{command.run}\n{'':18}for: {command.text}"


def show(page):
    """Prints what would be done with the commands of a page."""
    print(f"\n{page.name}")
    for step in page.before:
        print(f"  before  {step.get('serve') or step['run']}")
    for step in page.steps:
        if isinstance(step, book.Shown):
            print(f"  file    {step.name}")
        elif "not_run" in step.entry:
            print(f"  not run {step.text}\n{'':18}{step.entry['not_run']}")
        else:
            print(f"  run     {told(step)}")


def run(page, folder, programs, logs, counts):
    """Runs a page, and prints the outcome of each command. Returns its failures."""
    print(f"\n{page.name}", flush=True)
    path = logs / f"{page.name.replace('/', '-')}.log"
    failures = []
    with path.open("w") as log:
        running = Run(page, folder, programs, log)
        try:
            running.prepare()
            for step in page.steps:
                if isinstance(step, book.Shown):
                    running.write(step.name, step.text)
                elif "not_run" in step.entry:
                    counts.not_run += 1
                    print(f"  not run         {step.text}\n{'':18}{step.entry['not_run']}", flush=True)
                else:
                    began = time.monotonic()
                    running.command(step)
                    counts.run += 1
                    counts.shortened += step.run != step.text
                    print(f"  ran     {time.monotonic() - began:5.1f} s {told(step)}", flush=True)
        except Failure as failure:
            failures.append(str(failure))
            print(f"  FAILED          {failure}; the rest of the page is not run", flush=True)
        failures_of_end = running.finish()
    # A command that failed may have left anything.
    for failure in failures_of_end if not failures else []:
        failures.append(failure)
        print(f"  FAILED          {failure}", flush=True)
    if failures:
        print("\n".join(path.read_text(errors="replace").splitlines()[-40:]), flush=True)
    return [f"{page.name}: {failure}" for failure in failures]
