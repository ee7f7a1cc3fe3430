#!/usr/bin/env python3
"""Kill `warpsmith bench` again and again, and see what is left.

    tests/kill/kill_test.py build/warpsmith --n 100 --seed 1 [--out kills.csv]        make kill-test N=100 SEED=1

Each round benches a small workload on the CPU and ends it at a random moment by SIGKILL, SIGTERM or SIGINT, the one process
or its whole group; in some rounds files may not grow (as on a full disk), in some the store's file system is read-only.
All rounds share a store and a folder of results. After each: the rows that were there are still there, every row is
whole, the store passes its integrity check, has lost no trial and no winner, and has no verdict on a config that an
undisturbed run does not have. At the end a run of every size goes on from there and ends well, and no temporary folder
is left. --out: one line a round.
Exit codes: 0 nothing lost, 1 something was, 2 usage."""

import argparse
import csv
import datetime
import os
import platform
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
SIZES = [(rows, dim) for rows in (8, 16, 24) for dim in (32, 48)]
FULL_BYTES = 24 << 10  # that a file may have where the disk is "full"
COLUMNS = ["round", "signal", "target", "disk", "after_ms", "exit", "rows", "trials", "winners", "lost", "device", "date"]


class Lost(Exception):
    pass


class Place:
    """A store, results and temporary files, and what was in them when it was looked at last."""

    def __init__(self, warpsmith, folder):
        self.warpsmith, self.folder = os.path.abspath(warpsmith), folder
        self.store, self.results, self.tmp = (os.path.join(folder, n) for n in ("store", "results", "tmp"))
        for path in (self.store, self.tmp):
            os.mkdir(path, 0o700)
        self.rows, self.trials, self.winners = [], 0, 0

    def bench(self, size, disk):
        command = [self.warpsmith, "bench", "workloads/softmax.py", "--device", "cpu", "--no-figures", "--budget", "6t",
                   "--samples-max", "8", "--results", self.results, "-D", f"rows={size[0]}", "-D", f"dim={size[1]}"]
        if disk == "read-only":
            mount = f'mount --bind "{self.store}" "{self.store}" && mount -o remount,ro,bind "{self.store}" && exec "$@"'
            command = ["unshare", "-rm", "sh", "-c", mount, "sh", *command]
        environment = {**os.environ, "WARPSMITH_CACHE": os.path.join(self.store, "store.db"), "TMPDIR": self.tmp,
                       "WARPSMITH_CPU_CACHE": "4M"}

        def limit():
            if disk == "full":
                resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_BYTES, FULL_BYTES))

        return subprocess.Popen(command, env=environment, preexec_fn=limit, start_new_session=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def look(self):
        path = os.path.join(self.results, "softmax.csv")
        rows = []
        if os.path.exists(path) and os.path.getsize(path):
            text = open(path, newline="").read()
            whole = text if text.endswith("\n") else text[:text.rfind("\n") + 1]  # the next run moves half a row aside
            rows = list(csv.reader(whole.splitlines()))
            if any(len(r) != len(rows[0]) for r in rows):
                raise Lost("a row is not whole")
        if rows[:len(self.rows)] != self.rows:
            raise Lost(f"rows were lost: {len(self.rows)} before, {len(rows)} now")
        bad = set() if not rows else {
            dict(zip(rows[0], r))["status"] for r in rows[1:]} - {"ok", "duplicate", "spill", "pruned", "implausible", ""}
        if bad:
            raise Lost(f"a row says {', '.join(bad)}")
        self.rows = rows
        self.look_into_store()

    def look_into_store(self):
        path = os.path.join(self.store, "store.db")
        if [n for n in os.listdir(self.store) if "damaged" in n]:
            raise Lost("the store was taken for damaged")
        if not os.path.exists(path) or not os.path.getsize(path):
            return
        db = sqlite3.connect(path)
        try:
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise Lost("the store fails its integrity check")
            tables = {name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            trials = db.execute("SELECT COUNT(*) FROM trials").fetchone()[0] if "trials" in tables else 0
            winners = db.execute("SELECT COUNT(*) FROM winners").fetchone()[0] if "winners" in tables else 0
            wrong = db.execute("SELECT status, message FROM trials WHERE status NOT IN ('ok', 'duplicate', 'spill', 'pruned', "
                               "'implausible')").fetchall() if "trials" in tables else []
        finally:
            db.close()
        if wrong:
            raise Lost(f"a verdict was stored on a config that is fine: {wrong[0]}")
        if winners < self.winners or (trials < self.trials and winners == self.winners):
            raise Lost(f"{self.trials} trials and {self.winners} winners before, {trials} and {winners} now")
        self.trials, self.winners = trials, winners


def mounts():
    return subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode == 0 if shutil.which("unshare") else False


def one_round(place, choice, typical_s, may_mount):
    """One kill; returns what it was."""
    disk = choice.choices(["fine", "full", "read-only" if may_mount else "fine"], [8, 1, 1])[0]
    name, target = choice.choice(list(SIGNALS)), choice.choice(["process", "group"])
    after = choice.uniform(0.02, 1.1 * typical_s)
    child = place.bench(choice.choice(SIZES), disk)
    try:
        child.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        (os.killpg if target == "group" else os.kill)(child.pid, SIGNALS[name])
        try:
            child.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise Lost(f"it went on for 20 s after SIG{name}") from None
    wait_for_group(child.pid)
    place.look()
    return {"signal": name, "target": target, "disk": disk, "after_ms": round(1000 * after), "exit": child.returncode,
            "rows": max(0, len(place.rows) - 1), "trials": place.trials, "winners": place.winners}


def wait_for_group(group):
    """Workers of a killed process end by themselves."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    raise Lost("processes of a killed run go on")


def undisturbed(place, sizes):
    """Seconds of the slowest run."""
    most = 0
    for size in sizes:
        begun = time.monotonic()
        child = place.bench(size, "fine")
        said = child.communicate()[0]
        if child.returncode != 0:
            raise Lost(f"an undisturbed run ends with {child.returncode}: {said[-400:]}")
        most = max(most, time.monotonic() - begun)
    place.look()
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warpsmith")
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    given = parser.parse_args()
    choice = random.Random(given.seed)
    folder = tempfile.mkdtemp(prefix="kill-test-")
    lines, lost = [], ""
    try:
        first = os.path.join(folder, "first")
        os.mkdir(first, 0o700)
        typical = undisturbed(Place(given.warpsmith, first), SIZES[:1])
        there = os.path.join(folder, "there")
        os.mkdir(there, 0o700)
        place, may_mount = Place(given.warpsmith, there), mounts()
        for i in range(given.n):
            line = one_round(place, choice, typical, may_mount)
            lines.append({"round": i + 1, **line, "lost": 0})
            print(f"{i + 1:4} SIG{line['signal']:<5} {line['target']:<8} {line['disk']:<10} {line['after_ms']:6} ms  exit {line['exit']:4}"
                  f"  {line['rows']:4} rows {line['trials']:4} trials {line['winners']:3} winners", flush=True)
        undisturbed(place, SIZES)
        left = os.listdir(place.tmp)
        if left:
            raise Lost(f"temporary folders are left: {', '.join(left[:4])}")
    except Lost as error:
        lost = str(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.out:
        facts = {"device": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores", "date": f"{datetime.date.today()}"}
        with open(given.out, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows({**line, **facts} for line in lines)
    kinds = {s: sum(l["signal"] == s for l in lines) for s in SIGNALS}
    print(f"{len(lines)} kills ({', '.join(f'{n} by SIG{s}' for s, n in kinds.items())}; "
          f"{sum(l['target'] == 'group' for l in lines)} of a group; {sum(l['disk'] == 'full' for l in lines)} with a full disk, "
          f"{sum(l['disk'] == 'read-only' for l in lines)} with a read-only store): " + (lost or "nothing lost"))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
