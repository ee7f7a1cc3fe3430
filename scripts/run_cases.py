#!/usr/bin/env python3
"""run_cases.py: a list of cases, each by real PyTorch and by warpsmith, for scripts/bench_*.sh. It goes on where it ended.

    scripts/run_cases.py out/cases.txt --out out --device cuda:0 --ways eager,compile --shard 0/2 --total 540

A line of the list is `NAME WORKLOAD DTYPE PRECISION [--mode=MODE] [--eval] [--ways=WAYS] axis=value ...`, for
scripts/torch_peer.py but for its name; with precision default ours is timed as tf32, and once.

out/runs.csv says what became of each case in each way: ok, wrong, refused (with the first line of why), timeout, crashed, died
(whatever ran this script was killed twice while it was at it), and of PyTorch compile_error and launch_error. What has an
outcome is not run again (--retry: unless it failed). Nothing that one case does ends the others: ours is a process for each,
PyTorch one for all (--apart: for each case and way), which is started again behind what it died of or took longer than
--limit for. Result rows are in out/results, PyTorch's longest kernels in out/torch_kernels.csv, logs in out/logs.

Parts: torch; ours; check (outputs compared with PyTorch's at sizes of at most --check-elements, scripts/torch_peer.py
--check). --ahead N: what torch.compile will make is compiled by N processes before anything is timed; what is said of its
seconds is then of a full cache.

Exit codes: 0 fine, 1 something failed or was left out for lack of time, 2 wrong call, 3 nothing can run here."""

import argparse
import concurrent.futures
import contextlib
import csv
import ctypes
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import torch_peer

COLUMNS = ["case", "way", "status", "seconds", "launches", "temporary_mb", "message"]
KERNEL_COLUMNS = ["case", "way", "kernel", "launches", "us"]
OURS = {"ours": "ours", "check": "check"}  # part: way
UNFINISHED = ("begun", "stopped")
FINE = ("ok", "passed over")


def verdict(code, said, fine=""):
    """(status, message) of a command of warpsmith: its exit code, None if it was out of time, and what it printed; fine: what
    it says if all is well."""
    lines = [line for line in said.split("\n") if line.strip()]
    why = next((line for line in lines if re.match(r"warpsmith [a-z]+:", line)), lines[-1] if lines else "")
    if code is None:
        return "timeout", ""
    if "is wrong:" in said:
        return "wrong", next(line for line in lines if "is wrong:" in line).strip()[:300]
    if code == 0 and fine in said:
        return "ok", "; ".join(line for line in lines if "have no bound" in line)[:300]
    return ("refused" if code in (1, 2, 3) else "crashed"), f"exit {code}: {why}"[:300]


# ---- cases and what became of them -----------------------------------------------------------------------------------


class Case:
    """A line of the list: its name, and what torch_peer.py reads of it."""

    def __init__(self, line, ways):
        self.line = line.strip()
        self.name, _, self.rest = self.line.partition(" ")
        self.peer = torch_peer.read_case(self.rest)
        if not self.peer:
            raise torch_peer.Failure(2, f"no case: '{self.line}'")
        self.ways = self.peer.ways or ways
        self.point = self.peer.points[0]
        # Warpsmith has no precision of PyTorch's own flags: what is compared with these is tf32.
        self.precision = "tf32" if self.peer.precision == "default" else self.peer.precision
        self.shown, self.key = self.in_words(self.peer.precision)
        self.ours = self.in_words(self.precision)[1]

    def in_words(self, precision):
        """What is said of it, and what it is called in runs.csv, wherever its file lies."""
        peer = self.peer
        said = f"{peer.dtype} {precision or '-'}{'' if peer.row_mode == 'fwd' else f' {peer.row_mode}'}"
        axes = "".join(f" {name}={value}" for name, value in self.point.items())
        return f"{self.name} {said}", f"{self.name} {peer.path.stem} {said}{axes}"


def read_cases(path, ways):
    """Of the file that scripts/bench_*.sh have written."""
    return [Case(line, ways) for line in path.read_text().splitlines() if line.strip()]


def read_runs(out):
    """{(case, way): row}, of the newest, and how often each has begun without an end since."""
    found, begun = {}, {}
    path = out / "runs.csv"
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                key = row["case"], row["way"]
                begun[key] = begun.get(key, 0) + 1 if row["status"] == "begun" else 0
                if row["status"] not in UNFINISHED:
                    found[key] = row
    return found, begun


class Runs:
    """runs.csv, and the clock."""

    def __init__(self, given):
        self.given, self.path = given, given.out / "runs.csv"
        self.found, self.begun = read_runs(given.out)
        if given.retry:
            self.found = {key: row for key, row in self.found.items() if row["status"] in FINE}
        self.deadline = time.monotonic() + given.total
        self.failed, self.left = 0, set()
        if not self.path.exists():
            self.path.write_text(",".join(COLUMNS) + "\n")

    def write(self, case, way, status, **facts):
        row = {"case": case, "way": way, "status": status, **facts}
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n", extrasaction="ignore").writerow(row)
        return row

    def write_kernels(self, case, way, kernels):
        """What PyTorch has launched: the newest lines count."""
        path = self.given.out / "torch_kernels.csv"
        with path.open("a", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if not file.tell():
                writer.writerow(KERNEL_COLUMNS)
            writer.writerows([case, way, *kernel] for kernel in kernels)

    def begin(self, case, way):
        self.write(case, way, "begun")

    def end(self, case, way, status, shown="", **facts):
        self.found[case, way] = self.write(case, way, status, **facts)
        self.failed += status not in FINE
        words = [f"{shown or case} {way}: {status}"]
        words += [f"{float(facts['seconds']):.1f} s"] if facts.get("seconds") not in (None, "") else []
        words += [facts["message"]] if status not in FINE and facts.get("message") else []
        print(" ".join(words), flush=True)

    def stop(self, case, way):
        self.write(case, way, "stopped")

    def missing(self, case, way, shown=""):
        """Is it still to be run? What was begun twice and never ended has ended what ran it."""
        if (case, way) in self.found:
            return False
        if self.begun.get((case, way), 0) >= 2:
            self.end(case, way, "died", shown, message="what ran it was killed twice meanwhile")
            return False
        return True

    def time_left(self):
        return self.deadline - time.monotonic()


# ---- processes -------------------------------------------------------------------------------------------------------


def die_with_parent():
    """Linux's PR_SET_PDEATHSIG: nothing goes on, and takes the device, behind this process."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


@contextlib.contextmanager
def process(command, log, **more):
    """A process group, of which nothing is left behind the block. stdin is empty."""
    with open(log, "a") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                 start_new_session=True, preexec_fn=die_with_parent, **more)
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def log_of(given, name):
    return given.out / "logs" / re.sub(r"[^\w.-]+", "_", name)


class TorchSession:
    """One process of scripts/torch_peer.py over some cases: which way of which case it is at is what it writes of it."""

    def __init__(self, given, todo, log, compile_only=False):
        self.given, self.todo, self.log, self.compile_only = given, todo, log, compile_only

    def lines(self):
        return [f"{re.sub(r' --ways=[^ ]+', '', case.rest)} --ways={','.join(ways)}" for case, ways in self.todo]

    def run(self, time_left, say):
        """say(case, way, status, facts) of what begins and ends. Returns (why it ended, case, way it was at): "end",
        "timeout", "stopped", or the exit code of one that was in the middle of a way, or came to none."""
        given, at, since, seen = self.given, (None, None), time.monotonic(), 0
        with tempfile.TemporaryDirectory() as folder:
            cases, progress = pathlib.Path(folder) / "cases", pathlib.Path(folder) / "progress"
            cases.write_text("\n".join(self.lines()) + "\n")
            progress.touch()
            command = [given.python, "scripts/torch_peer.py", "--cases", str(cases), "--device", given.device]
            command += ["--ways", ",".join(given.ways), "--results", str(given.out / "results")]
            command += ["--progress", str(progress)] + (["--compile-only"] if self.compile_only else [])
            with process(command, self.log) as child, progress.open() as told:
                ended, rest = False, ""
                while True:
                    rest += told.read()
                    *lines, rest = rest.split("\n")
                    for line in lines:
                        fact = json.loads(line)
                        case = self.todo[fact.pop("case")][0]
                        way, status = fact.pop("way"), fact.pop("status")
                        at = (case, way) if status == "begun" else (None, None)
                        since = time.monotonic()
                        seen += 1
                        say(case, way, status, fact)
                    if ended:
                        code = child.returncode
                        return ("end" if seen and not at[0] else code, *at)
                    if time_left() <= 0:
                        return "stopped", *at
                    if at[0] and time.monotonic() - since > given.limit:
                        return "timeout", *at
                    ended = child.poll() is not None
                    if not ended:
                        time.sleep(0.05)


def last_line(path):
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def run_torch(given, runs, cases):
    """All ways of PyTorch. Returns False if nothing can run here."""
    def still(case):
        return [way for way in case.ways if runs.missing(case.key, way, case.shown)]

    def said(case, way, status, facts):
        if status == "begun":
            runs.begin(case.key, way)
            return
        if kernels := facts.pop("kernels", None):
            runs.write_kernels(case.key, way, kernels)
        for one in [way] if way else still(case):  # no way: whatever there is to know is of all
            runs.end(case.key, one, status, case.shown, message=facts.pop("error", ""), **facts)

    log, todo = log_of(given, "torch"), [(case, ways) for case in cases if (ways := still(case))]
    if given.apart:
        groups = [[(case, [way])] for case, ways in todo for way in ways]
    else:
        groups = [todo] if todo else []
    while groups:
        group = groups.pop(0)
        if runs.time_left() <= 0:
            runs.left |= {(case.key, way) for case, ways in group for way in ways}
            continue
        why, case, way = TorchSession(given, group, log).run(runs.time_left, said)
        if case:
            if why == "stopped":
                runs.stop(case.key, way)
            elif why == "timeout":
                runs.end(case.key, way, "timeout", case.shown, message=f"more than {given.limit:g} s")
            else:
                runs.end(case.key, way, "crashed", case.shown, message=f"exit {why}: {last_line(log)}")
        elif why not in ("end", "stopped"):
            print(f"{given.caller}: PyTorch: exit code {why}: {last_line(log)} ({log})", file=sys.stderr)
            return False
        rest = [(case, ways) for case, _ in group if (ways := [w for w in still(case) if w in dict_of(group)[case.key]])]
        if rest:
            groups.insert(0, rest)
    return True


def dict_of(group):
    return {case.key: ways for case, ways in group}


def compile_ahead(given, runs, cases):
    """What torch.compile makes goes into its cache, by several processes: at most half of the time that is left."""
    ways = {name for name in given.ways if torch_peer.ALL_WAYS[name][0] == "torch_compile"}
    todo = [(case, some) for case in cases
            if (some := [w for w in case.ways if w in ways and (case.key, w) not in runs.found])]
    until = time.monotonic() + runs.time_left() / 2
    parts = [part for i in range(given.ahead) if (part := todo[i::given.ahead])]

    def work(i):
        part, left = parts[i], lambda: until - time.monotonic()
        while part and left() > 0:
            why, case, _ = TorchSession(given, part, log_of(given, f"ahead_{i}"), compile_only=True).run(left, lambda *_: None)
            lines = [some.key for some, _ in part]
            part = part[lines.index(case.key) + 1 :] if case and why != "stopped" else []

    with concurrent.futures.ThreadPoolExecutor(max(len(parts), 1)) as pool:
        list(pool.map(work, range(len(parts))))


def run_command(given, runs, case, way, shown, command, log, more=None):
    """One process; (its exit code or None, what it said, seconds), or None where time is over."""
    left = runs.time_left()
    if left <= 0:
        runs.left.add((case, way))
        return None
    runs.begin(case, way)
    begun = time.monotonic()
    pathlib.Path(log).unlink(missing_ok=True)
    try:
        with process(command, log, env={**os.environ, **(more or {})}) as child:
            code = child.wait(min(left, given.limit))
    except subprocess.TimeoutExpired:
        code = None
    except OSError as error:
        raise torch_peer.Failure(3, f"cannot run {command[0]}: {error.strerror}")
    seconds = time.monotonic() - begun
    if code is None and left < given.limit:
        runs.stop(case, way)
        runs.left.add((case, way))
        return None
    return code, pathlib.Path(log).read_text(errors="replace"), round(seconds, 2)


def memory_of(folder):
    """Megabytes of the plan that --dump has written: what lies between kernels."""
    for plan in pathlib.Path(folder).glob("*_memory_plan.txt"):
        pool = re.match(r"pool (\d+) bytes", plan.read_text())
        return {"temporary_mb": round(int(pool[1]) / 1e6, 3)} if pool else {}
    return {}


def axes_of(case, option):
    return [word for name, value in case.point.items() for word in (option, f"{name}={value}")]


def run_ours(given, runs, cases):
    done = set()
    for case in cases:
        if case.ours in done or not runs.missing(case.ours, "ours", case.shown):
            continue
        done.add(case.ours)
        peer, log = case.peer, log_of(given, f"{case.shown} ours")
        with tempfile.TemporaryDirectory() as dump:
            command = [given.warpsmith, "bench", str(peer.path), "--device", given.device, "--dtype", peer.dtype]
            command += ["--mode", peer.mode, "--results", str(given.out / "results"), "--no-figures"]
            command += ["--dump", f"{dump}/stages"]
            command += ["--eval"] if peer.eval else []
            command += ["--precision", case.precision] if case.precision else []
            command += [*axes_of(case, "-D"), *given.args]
            ran = run_command(given, runs, case.ours, "ours", case.shown, command, log)
            if not ran:
                continue
            code, said, seconds = ran
            status, message = verdict(code, said)
            kernels = re.search(r"^graph \w+: \d+ kernels? unfused, (\d+) fused", said, re.MULTILINE)
            facts = {"launches": kernels[1]} if kernels else {}
            runs.end(case.ours, "ours", status, case.shown, seconds=seconds, message=message,
                     **facts, **memory_of(f"{dump}/stages"))


def run_check(given, runs, cases):
    """Each file, mode and dtype once: in f32, the other precisions being less exact by design."""
    for case in cases:
        peer = case.peer
        if peer.eval or peer.mode == "bwd" or peer.precision not in ("f32", None):
            continue
        if not runs.missing(case.key, "check", case.shown):
            continue
        log = log_of(given, f"{case.shown} check")
        command = [given.python, "scripts/torch_peer.py", "--check", str(peer.path), "--device", given.device]
        command += ["--mode", peer.mode, "--dtype", peer.dtype, "--max-elements", str(given.check_elements)]
        command += ["--axes", *[f"{name}={value}" for name, value in case.point.items()]]
        ran = run_command(given, runs, case.key, "check", case.shown, command, log, {"WARPSMITH": given.warpsmith})
        if not ran:
            continue
        code, said, seconds = ran
        lines = said.split("\n")
        wrong = next((line for line in lines if line.endswith("WRONG")), "")
        why = wrong or next((line for line in lines if "FAILED" in line), "") or (lines[-2:] or [""])[0]
        status = {0: "ok", None: "timeout"}.get(code, "wrong" if wrong else "refused" if code == 1 else "crashed")
        runs.end(case.key, "check", status, case.shown, seconds=seconds, message=why[:300] if code else "")


# ---- the call --------------------------------------------------------------------------------------------------------


def shard(text):
    part = re.fullmatch(r"(\d+)/([1-9]\d*)", text)
    if not part or int(part[1]) >= int(part[2]):
        raise argparse.ArgumentTypeError(f"is I/N with I from 0 to N - 1, not '{text}'")
    return int(part[1]), int(part[2])


def of_shard(names, part):
    """Every Nth name from the Ith on, in their order: a problem's cases stay together."""
    return list(dict.fromkeys(names))[part[0] :: part[1]]


def parser_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--parts", default="torch ours", help="of: torch ours check")
    parser.add_argument("--ways", default="eager,compile")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--warpsmith", default="build/warpsmith")
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    parser.add_argument("--args", type=shlex.split, default=[], help="further arguments of bench")
    parser.add_argument("--shard", type=shard, default=(0, 1), metavar="I/N")
    parser.add_argument("--always", metavar="NAME", help="of a case that is part of every shard")
    parser.add_argument("--total", type=float, default=540, help="seconds after which nothing runs any more")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one case in one way")
    parser.add_argument("--ahead", type=int, default=0)
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--check-elements", type=int, default=1 << 22)
    parser.add_argument("--caller", default="run_cases", help="who says what there is to say")
    return parser


def main():
    given = parser_of().parse_args()
    given.ways = torch_peer.listed(list(torch_peer.ALL_WAYS), given.ways, "--ways")
    parts = given.parts.split()
    for part in parts:
        if part not in ("torch", *OURS):
            raise torch_peer.Failure(2, f"PARTS has no '{part}'; it takes: torch ours check")
    cases = read_cases(given.cases, given.ways)
    names = {given.always, *of_shard([case.name for case in cases if case.name != given.always], given.shard)}
    cases = [case for case in cases if case.name in names]
    (given.out / "logs").mkdir(parents=True, exist_ok=True)
    (given.out / "results").mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    runs, code = Runs(given), 0
    for part in parts:
        if part == "torch":
            if given.ahead:
                compile_ahead(given, runs, cases)
            code = 0 if run_torch(given, runs, cases) else 1
        else:
            {"ours": run_ours, "check": run_check}[part](given, runs, cases)
    if runs.left:
        print(f"{given.caller}: no time left for {len(runs.left)} runs", file=sys.stderr)
    return 1 if runs.failed or runs.left else code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except torch_peer.Failure as failure:
        print(f"run_cases: {failure}", file=sys.stderr)
        sys.exit(failure.code)
    except KeyboardInterrupt:
        sys.exit(130)
