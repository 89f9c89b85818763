"""Scenarios of performance, each a ratio against baselines taken in the same run on the same two servers.

F1  a full copy of 4 sysbench tables. Baselines: `mariadb-dump | mariadb`, mydumper then myloader with 2 threads; bound:
    LOAD DATA INFILE over two connections, which no copy through a client can pass.
I1  a backlog of sysbench oltp_write_only transactions. Baseline: a native replica with 0, 2 and 4 optimistic threads,
    of which the best counts, at the same flush setting of the target.

Each contestant runs once a round, in turn, each time from the same saved data directory of the target, once the machine
is idle. What counts is the ratio of medians, beside the processor time of source, target and tool for each row, which is
steadier than the clock. A run in which one baseline differs from itself by more than 15 % is marked void. After every
step the tables of both sides are compared by CHECKSUM TABLE.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

SERVERS = Path(__file__).with_name("servers")
TABLES = 4
BUFFERS = ["--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G"]
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


# --- servers and processes -------------------------------------------------------------------------------------------


def run(*command, **options):
    """Runs a command to its end; its output is shown only if it fails."""
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


class Server:
    def __init__(self, directory, name, arguments):
        self.directory, self.name, self.arguments = directory, name, arguments
        self.home = directory / name
        self.saved = directory / f"{name}.saved"
        self.start()
        self.port = int((self.home / "port").read_text())

    def start(self):
        shown = run(SERVERS, "start", self.directory, "mariadb", self.name, *BUFFERS, *self.arguments)
        self.pid = int(dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)["PID"])

    def save(self):
        """Keeps the data directory as it is now, for `reset`."""
        run(SERVERS, "stop", self.directory, self.name)
        shutil.rmtree(self.saved, ignore_errors=True)
        run("cp", "-a", "--reflink=auto", self.home / "data", self.saved)
        self.start()

    def reset(self):
        run(SERVERS, "kill", self.directory, self.name)
        shutil.rmtree(self.home / "data")
        run("cp", "-a", "--reflink=auto", self.saved, self.home / "data")
        self.start()
        self.warm()

    def login(self):
        return ["--protocol=tcp", "--host=127.0.0.1", f"--port={self.port}", "--user=root"]

    def sql(self, statements):
        """Runs statements, and gives back rows as lists of text."""
        done = run("mariadb", "--no-defaults", *self.login(), "--batch", "--skip-column-names", input=statements)
        return [line.split("\t") for line in done.splitlines()]

    def tables(self):
        return [row[0] for row in self.sql("SHOW TABLES IN sbtest")]

    def warm(self):
        """Brings what there is into the buffer pool."""
        if ["sbtest"] in self.sql("SHOW DATABASES"):
            self.checksums()

    def checksums(self):
        tables = ", ".join(f"sbtest.{table}" for table in self.tables())
        return dict(self.sql(f"CHECKSUM TABLE {tables}")) if tables else {}

    def processor_s(self):
        return processor_s(self.pid)


def processor_s(pid):
    """Processor time of a process so far, its ended children included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(ticks) for ticks in fields[11:15]) / TICKS_A_SECOND


def wait_until_idle(limit_s):
    """Waits until the machine is busy for less than 8 % over 1.5 s; False if it never is."""

    def reading():
        ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]

    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        (all_before, idle_before), _ = reading(), time.sleep(1.5)
        all_after, idle_after = reading()
        if 1 - (idle_after - idle_before) / max(1, all_after - all_before) < 0.08:
            return True
    return False


class Ferrymaster:
    """A running `serve` with one source, and a client of its API."""

    def __init__(self, directory, source):
        self.data = Path(tempfile.mkdtemp(prefix="ferrymaster-", dir=directory))
        port = run(SERVERS, "free-port").strip()
        self.base = f"http://127.0.0.1:{port}"
        self.log = (self.data / "log").open("w")
        self.process = subprocess.Popen(
            [os.environ["FERRYMASTER_BINARY"], "serve", "--data-dir", self.data / "data", "--listen", f"127.0.0.1:{port}"],
            stdout=self.log,
            stderr=self.log,
        )
        self.pid = self.process.pid
        try:
            self.wait_until_ready()
            described = {"source_name": "source", "host": "127.0.0.1", "port": source.port, "user": "root", "password": "",
                         "enable": True, "enable_gtid": False}
            self.call("POST", "/api/v1/sources", {"source": described})
        except BaseException:
            self.process.kill()
            raise

    def wait_until_ready(self):
        end = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"{self.base}/readyz", timeout=2)
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    sys.exit(f"bench: ferrymaster is not ready:\n{(self.data / 'log').read_text()}")
                time.sleep(0.05)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        # A content type promises a body.
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            sys.exit(f"bench: {method} {path}: {error} {error.read().decode()}")
        return json.loads(text) if text else None

    def run_task(self, mode, target, is_done, **source_conf):
        """Creates and starts a task, and waits until its status is what is waited for."""
        self.call(
            "POST",
            "/api/v1/tasks",
            {"task": {
                "name": "bench", "task_mode": mode, "meta_schema": "dm_meta", "enhance_online_schema_change": True,
                "on_duplicate": "error",
                "target_config": {"host": "127.0.0.1", "port": target.port, "user": "root", "password": ""},
                "table_migrate_rule": [{"source": {"source_name": "source", "schema": "sbtest", "table": "*"}}],
                "source_config": {"source_conf": [{"source_name": "source", **source_conf}]},
            }},
        )
        self.call("POST", "/api/v1/tasks/bench/start")
        while True:
            status = self.call("GET", "/api/v1/tasks/bench/status")["data"][0]
            if status["stage"] == "Paused":
                sys.exit(f"bench: the task stopped: {status.get('error_msg')}")
            if is_done(status):
                return
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()


# --- measuring -------------------------------------------------------------------------------------------------------


class Contest:
    """Contestants that do the same work in turn."""

    def __init__(self, name, source, target, units, word, idle_limit_s):
        self.name, self.source, self.target = name, source, target
        self.idle_limit_s = idle_limit_s
        self.units, self.word = units, word
        self.seconds, self.processor_us, self.notes = {}, {}, []

    def step(self, contestant, work):
        """Resets the target, waits for quiet, and measures `work`, a function that may give back a tool's process id."""
        self.target.reset()
        if not wait_until_idle(self.idle_limit_s):
            self.note(f"the machine was never idle before {contestant}")
        before = [self.source.processor_s(), self.target.processor_s(), processor_s("self")]
        began = time.monotonic()
        pid = work()
        seconds = time.monotonic() - began
        after = [self.source.processor_s(), self.target.processor_s(), processor_s("self")]
        used = [late - early for early, late in zip(before, after)]
        if pid is not None:  # still running, so not among the ended children
            used[2] = processor_s(pid)
        if self.source.checksums() != self.target.checksums():
            sys.exit(f"bench: {self.name}: source and target differ after {contestant}")
        self.seconds.setdefault(contestant, []).append(seconds)
        self.processor_us.setdefault(contestant, []).append([value * 1e6 / self.units for value in used])
        print(f"  {contestant:<28} {self.units / seconds / 1000:8.1f} k {self.word}/s", flush=True)

    def note(self, text):
        print(f"  note: {text}", file=sys.stderr)
        self.notes.append(text)

    def rate(self, contestant):
        return self.units / statistics.median(self.seconds[contestant])

    def finish(self, baselines, ours, results):
        for baseline in baselines:
            times = self.seconds[baseline]
            if max(times) > 1.15 * min(times):
                self.note(f"void: {baseline} differs from itself by {max(times) / min(times) - 1:.0%}")
        print(f"\n{self.name:<30} {'k ' + self.word + '/s':>14}  processor time a unit, µs: source  target    tool   ours is")
        for contestant in self.seconds:
            source, target, tool = (statistics.median(column) for column in zip(*self.processor_us[contestant]))
            ratio = f"{self.rate(ours) / self.rate(contestant):6.2f} x" if ours in self.seconds else ""
            print(f"{contestant:<30} {self.rate(contestant) / 1000:14.1f}  {source:33.2f} {target:7.2f} {tool:7.2f}  {ratio}")
        line = {
            "scenario": self.name,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "commit": run("git", "describe", "--always", "--dirty").strip(),
            "cores": os.cpu_count(),
            "units": self.units,
            "unit": self.word,
            "seconds": self.seconds,
            "processor_us": self.processor_us,
            "ratios": {name: self.rate(ours) / self.rate(name) for name in self.seconds} if ours in self.seconds else {},
            "notes": self.notes,
        }
        with results.open("a") as file:
            file.write(json.dumps(line) + "\n")


def prepare(source, rows):
    source.sql("CREATE DATABASE sbtest")
    sysbench(source, rows, "oltp_write_only", "prepare", "--threads=2")


def sysbench(source, rows, script, command, *options):
    run("sysbench", script, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={source.port}",
        "--mysql-user=root", f"--tables={TABLES}", f"--table-size={rows}", *options, command)


# --- F1 --------------------------------------------------------------------------------------------------------------


def f1(directory, options):
    print(f"F1: a full copy of {TABLES} tables of {options.rows:,} rows")
    source = Server(directory, "source", [])
    target = Server(directory, "target", ["--skip-log-bin"])
    prepare(source, options.rows)
    target.save()
    contest = Contest("F1", source, target, TABLES * options.rows, "rows", options.idle)

    def pipe():
        target.sql("CREATE DATABASE sbtest")
        dump = subprocess.Popen(
            ["mariadb-dump", "--no-defaults", *source.login(), "--single-transaction", "--quick", "sbtest"],
            stdout=subprocess.PIPE,
        )
        run("mariadb", "--no-defaults", *target.login(), "sbtest", stdin=dump.stdout)
        dump.stdout.close()
        if dump.wait() != 0:
            sys.exit("bench: mariadb-dump failed")

    def mydumper():
        files = directory / "mydumper"
        shutil.rmtree(files, ignore_errors=True)
        login = ["-h", "127.0.0.1", "-u", "root", "-t", "2", "-B", "sbtest"]
        run("mydumper", *login, "-P", source.port, "-o", files)
        run("myloader", *login, "-P", target.port, "-d", files)

    # The files and the empty tables of the bound are made beforehand: only the loading is measured.
    structure = run("mariadb-dump", "--no-defaults", *source.login(), "--no-data", "--databases", "sbtest")
    for table in source.tables():
        source.sql(f"SELECT * FROM sbtest.{table} INTO OUTFILE '{source.home}/files/{table}'")

    def bound():
        target.sql(structure)
        loads = [f"LOAD DATA INFILE '{target.home}/files/{table}' INTO TABLE sbtest.{table};" for table in source.tables()]
        clients = []
        for half in (loads[0::2], loads[1::2]):
            command = ["mariadb", "--no-defaults", *target.login(), "--execute", "".join(half)]
            clients.append(subprocess.Popen(command))
        if any([client.wait() for client in clients]):
            sys.exit("bench: LOAD DATA failed")

    def ours(service):
        service.run_task("full", target, lambda status: status["stage"] == "Finished")
        return service.pid

    for table in source.tables():
        shutil.move(source.home / "files" / table, target.home / "files" / table)
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}")
        contest.step("mariadb-dump | mariadb", pipe)
        contest.step("mydumper, myloader", mydumper)
        contest.step("LOAD DATA x 2 (bound)", bound)
        if not options.baselines:
            with Ferrymaster(directory, source) as service:
                contest.step("ferrymaster", lambda: ours(service))
    contest.finish(["mariadb-dump | mariadb", "mydumper, myloader"], "ferrymaster", options.results)


# --- I1 --------------------------------------------------------------------------------------------------------------


def i1(directory, options):
    for flush in (2, 1):
        place = directory / f"flush{flush}"
        place.mkdir()
        backlog(place, options, flush)
        run(SERVERS, "stop-all", place)


def backlog(directory, options, flush):
    print(f"I1: a backlog of {options.transactions:,} transactions, innodb_flush_log_at_trx_commit={flush} at the target")
    source = Server(directory, "source", [])
    prepare(source, options.rows)
    # The target begins as the very files that the source has now.
    source.save()
    target = Server(directory, "target", ["--skip-log-bin", f"--innodb-flush-log-at-trx-commit={flush}"])
    run(SERVERS, "stop", directory, "target")
    shutil.rmtree(target.home / "data")
    run("cp", "-a", "--reflink=auto", source.saved, target.home / "data")
    for file in (target.home / "data").glob("binlog.*"):
        file.unlink()
    target.start()
    target.save()
    [[file, offset, *_]] = source.sql("SHOW MASTER STATUS")
    sysbench(source, options.rows, "oltp_write_only", "run", f"--events={options.transactions}", "--time=0", "--threads=2",
             "--rand-seed=7")
    [[end_file, end_offset, *_]] = source.sql("SHOW MASTER STATUS")
    # 4 row changes a transaction: two updates, a delete and an insert.
    contest = Contest(f"I1 flush={flush}", source, target, 4 * options.transactions, "row changes", options.idle)

    def replica(threads):
        target.sql(f"SET GLOBAL slave_parallel_threads={threads}; SET GLOBAL slave_parallel_mode='optimistic'; "
                   f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={source.port}, MASTER_USER='root', "
                   f"MASTER_LOG_FILE='{file}', MASTER_LOG_POS={offset}; START SLAVE")
        while True:
            shown = run("mariadb", "--no-defaults", *target.login(), "--execute", "SHOW SLAVE STATUS\\G")
            fields = {name.strip(): value for name, _, value in (line.partition(": ") for line in shown.splitlines())}
            if fields.get("Last_Error"):
                sys.exit(f"bench: the replica stopped: {fields['Last_Error']}")
            if (fields["Relay_Master_Log_File"], fields["Exec_Master_Log_Pos"]) == (end_file, end_offset):
                break
            time.sleep(0.2)
        target.sql("STOP SLAVE")

    def ours(service):
        end = f"({end_file}, {end_offset})"
        caught_up = lambda status: status.get("sync_status", {}).get("syncer_binlog") == end
        service.run_task("incremental", target, caught_up, binlog_name=file, binlog_pos=int(offset))
        return service.pid

    names = {threads: f"replica, {threads or 'no'} threads" for threads in (0, 2, 4)}
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}")
        for threads, name in names.items():
            contest.step(name, lambda threads=threads: replica(threads))
        if not options.baselines:
            with Ferrymaster(directory, source) as service:
                contest.step("ferrymaster", lambda: ours(service))
    best = max(names.values(), key=contest.rate)
    contest.finish([best], "ferrymaster", options.results)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="*", metavar="F1|I1", help="which scenarios (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contestant runs")
    parser.add_argument("--rows", type=int, default=250_000, help="rows of each of the 4 tables")
    parser.add_argument("--transactions", type=int, default=150_000, help="transactions of the backlog")
    parser.add_argument("--idle", type=float, default=180, help="seconds to wait for an idle machine before each step")
    parser.add_argument("--baselines", action="store_true", help="leave ferrymaster out")
    parser.add_argument("--results", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    known = {"F1": f1, "I1": i1}
    scenarios = [name.upper() for name in options.scenarios] or list(known)
    if unknown := set(scenarios) - set(known):
        parser.error(f"unknown scenarios: {', '.join(sorted(unknown))}")
    for name in scenarios:
        directory = Path(tempfile.mkdtemp(prefix="ferrymaster-bench."))
        try:
            known[name](directory, options)
        finally:
            for place in (directory, *directory.glob("flush*")):
                run(SERVERS, "stop-all", place)
            shutil.rmtree(directory)
    print(f"\nThe results were added to {options.results}")


if __name__ == "__main__":
    main()
