#!/usr/bin/env python3
"""Kill `warpsmith bench` again and again, and see what is left.

    tests/kill/kill_test.py build/warpsmith --n 100 --seed 1 [--out kills.csv]        make kill-test N=100 SEED=1

Each round tunes a relu of a size that nobody has tuned yet, on the CPU, and ends it at a random moment, while it runs, by
SIGKILL, SIGTERM or SIGINT, the one process or its whole group; in some rounds the disk of the store is all but full, in some
it is read-only. All rounds share a store and a folder of results. After each:

    the rows that were there are still there, and every row is whole;
    the store passes its integrity check, and has every trial that it had, and that the run has told of;
    it has no verdict on a config that an undisturbed run does not have;
    the same call again goes on, ends with 0, and leaves no temporary folder and no lock of the killed one;
    the winner that it stores was measured, and is the one of its rows.

--out: one line a round. Exit codes: 0 nothing lost, 1 something was, 2 usage."""

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
FINE = {"ok", "duplicate", "spill", "pruned", "implausible", ""}
MOUNTED = "WARPSMITH_KILL_TEST_MOUNTS"  # in the environment: this process may mount
COLUMNS = ["round", "signal", "target", "disk", "after_ms", "exit", "told", "rows", "trials", "winners", "lost", "device", "date"]


class Lost(Exception):
    pass


class Place:
    """A store, results and temporary files, and what was in them when it was looked at last."""

    def __init__(self, warpsmith, folder, may_mount):
        self.warpsmith, self.may_mount = os.path.abspath(warpsmith), may_mount
        self.store, self.results, self.tmp = (os.path.join(folder, n) for n in ("store", "results", "tmp"))
        for path in (self.store, self.tmp):
            os.makedirs(path, 0o700)
        self.said = os.path.join(folder, "said")
        self.rows, self.trials, self.winners = [], set(), 0
        if may_mount:
            self.mount("-t", "tmpfs", "-o", "size=256m,mode=700", "none")

    def mount(self, *options):
        subprocess.run(["mount", *options, self.store], check=True)

    def used(self):
        return sum(os.path.getsize(os.path.join(self.store, name)) for name in os.listdir(self.store))

    def set_disk(self, disk, spare):
        """Where nothing can be mounted, read-only rounds are full ones, by a limit on the size of files."""
        if self.may_mount and disk == "full":
            self.mount("-o", f"remount,size={self.used() + spare}")
        elif self.may_mount:
            self.mount("-o", "remount,ro" if disk == "read-only" else "remount,rw,size=256m")

    def bench(self, size, limit_bytes=0):
        command = [self.warpsmith, "bench", "workloads/relu.py", "--device", "cpu", "--no-figures", "--budget", "6t",
                   "--samples-max", "8", "--results", self.results, "-D", f"n={size}"]
        environment = {**os.environ, "WARPSMITH_CACHE": os.path.join(self.store, "store.db"), "TMPDIR": self.tmp,
                       "WARPSMITH_CPU_CACHE": "4M", "OMP_WAIT_POLICY": "passive", "WS_LOGS": "autotune"}

        def limit():
            if limit_bytes:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

        with open(self.said, "w") as said:
            return subprocess.Popen(command, env=environment, preexec_fn=limit, start_new_session=True,
                                    stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)

    def told(self):
        """Configs of trials that the last run has told of, which it does once they are stored."""
        with open(self.said) as said:
            return [line.split("  ")[1] for line in said if line.startswith("[autotune] ") and line.count("  ") > 1]

    def look(self):
        path = os.path.join(self.results, "relu.csv")
        rows = []
        if os.path.exists(path) and os.path.getsize(path):
            text = open(path, newline="").read()
            whole = text if text.endswith("\n") else text[:text.rfind("\n") + 1]  # the next run moves half a row aside
            rows = list(csv.reader(whole.splitlines()))
            if any(len(r) != len(rows[0]) for r in rows):
                raise Lost("a row is not whole")
        if rows[:len(self.rows)] != self.rows:
            raise Lost(f"rows were lost: {len(self.rows)} before, {len(rows)} now")
        bad = {row["status"] for row in self.dicts(rows)} - FINE
        if bad:
            raise Lost(f"a row says {', '.join(bad)}")
        self.rows = rows
        self.look_into_store()

    @staticmethod
    def dicts(rows):
        return [dict(zip(rows[0], r)) for r in rows[1:]]

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
            if not db.execute("SELECT name FROM sqlite_master WHERE name = 'trials'").fetchall():
                return
            trials = db.execute("SELECT axes, config, status, message FROM trials JOIN keys ON keys.id = trials.key "
                                "JOIN graphs USING (graph)").fetchall()
            winners = db.execute("SELECT axes, config FROM winners JOIN keys ON keys.id = winners.key "
                                 "JOIN graphs USING (graph)").fetchall()
        finally:
            db.close()
        wrong = [t for t in trials if t[2] not in FINE]
        if wrong:
            raise Lost(f"a verdict was stored on a config that is fine: {wrong[0]}")
        gone = self.trials - {t[:2] for t in trials}
        if gone or len(winners) < self.winners:
            raise Lost(f"{len(gone)} trials and {max(0, self.winners - len(winners))} winners are gone")
        measured = {t[:2] for t in trials if t[2] == "ok"}
        for axes, config in winners:
            rows = {r["config"] for r in self.dicts(self.rows)
                    if r["axes"] == axes and r["role"] == "variant" and r["is_winner"] == "1"}
            if (axes, config) not in measured or (rows and config not in rows):
                raise Lost(f"the winner of {axes}, {config}, is not the one of the rows, {rows}, or was not measured")
        self.trials, self.winners = {t[:2] for t in trials}, len(winners)

    def expect_trials(self, size):
        """Returns how many the last run has told of."""
        told = set(self.told())
        missing = told - {config for axes, config in self.trials if axes == f"n={size}"}
        if missing:
            raise Lost(f"told to be stored, but is not: n={size} {', '.join(missing)}")
        return len(told)

    def go_on(self, size):
        """The same call again, undisturbed."""
        child = self.bench(size)
        if child.wait() != 0:
            with open(self.said) as said:
                raise Lost(f"the run after it ends with {child.returncode}: {said.read()[-400:]}")
        self.look()
        left = os.listdir(self.tmp) + [n for n in os.listdir(self.store) if ".lock" in n]
        if left:
            raise Lost(f"the run after it leaves {', '.join(left[:4])}")


def may_mount():
    """Run again in a namespace of its own, if there are any."""
    if MOUNTED in os.environ:
        return os.environ[MOUNTED] == "1"
    mounts = shutil.which("unshare") and subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"],
                                                        stderr=subprocess.DEVNULL).returncode == 0
    os.environ[MOUNTED] = "1" if mounts else "0"
    if mounts:
        os.execvp("unshare", ["unshare", "-rm", sys.executable, *sys.argv])
    return False


def fresh_sizes(choice):
    sizes = list(range(1 << 12, 1 << 14, 4))
    choice.shuffle(sizes)
    return iter(sizes)


def wait_for(place, child, seconds, trials):
    """Until so many trials were told of, at least one, or for so long. False: it has ended before."""
    end = time.monotonic() + seconds
    while child.poll() is None and time.monotonic() < end:
        if trials and len(place.told()) >= trials:
            return True
        time.sleep(0.003)
    return child.poll() is None


def kill_one(place, choice, sizes, typical_s, disk):
    """Until one was still running when it was its time. Returns what it was, and its size."""
    name, target = choice.choice(list(SIGNALS)), choice.choice(["process", "group"])
    trials = choice.choice([0, choice.randint(1, 6)])  # half of all while trials are made, which is soon over
    share, more = choice.uniform(0.01, 1), choice.uniform(0, 0.1)
    for _ in range(8):
        size, begun = next(sizes), time.monotonic()
        child = place.bench(size, choice.randrange(24 << 10, 400 << 10) if disk == "full" and not place.may_mount else 0)
        running = wait_for(place, child, 60 if trials else share * typical_s, trials)
        running = running and wait_for(place, child, more, 0)
        after = time.monotonic() - begun
        if running:
            (os.killpg if target == "group" else os.kill)(child.pid, SIGNALS[name])
        try:
            child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise Lost(f"it went on for 20 s after SIG{name}") from None
        wait_for_group(child.pid)
        if running or disk != "fine":  # which may end it sooner
            break
        place.look()
        share, more = share * 0.7, 0
    return {"signal": name, "target": target, "disk": disk, "after_ms": round(1000 * after), "exit": child.returncode}, size


def one_round(place, choice, sizes, typical_s):
    disk = choice.choices(["fine", "full", "read-only" if place.may_mount else "full"], [8, 1, 1])[0]
    place.set_disk(disk, choice.randrange(0, 400 << 10))
    line, size = kill_one(place, choice, sizes, typical_s, disk)
    place.set_disk("fine", 0)
    place.look()
    line["told"] = place.expect_trials(size)
    place.go_on(size)
    return {**line, "rows": max(0, len(place.rows) - 1), "trials": len(place.trials), "winners": place.winners}


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


def seconds_of_a_run(place, size):
    begun = time.monotonic()
    place.go_on(size)
    return time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warpsmith")
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    given = parser.parse_args()
    choice, mounts = random.Random(given.seed), may_mount()
    folder = tempfile.mkdtemp(prefix="kill-test-")
    lines, lost = [], ""
    try:
        place, sizes = Place(given.warpsmith, folder, mounts), fresh_sizes(choice)
        typical = min(seconds_of_a_run(place, next(sizes)) for _ in range(2))
        for i in range(given.n):
            line = one_round(place, choice, sizes, typical)
            lines.append({"round": i + 1, **line, "lost": 0})
            print(f"{i + 1:4} SIG{line['signal']:<5} {line['target']:<8} {line['disk']:<10} {line['after_ms']:6} ms  exit {line['exit']:4}"
                  f"  {line['told']:3} told, {line['rows']:5} rows {line['trials']:5} trials {line['winners']:4} winners", flush=True)
    except Lost as error:
        lost = str(error)
    finally:
        if mounts:
            subprocess.run(["umount", "-l", os.path.join(folder, "store")], check=False)
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
