#!/usr/bin/env python3
"""Time a workload file under real PyTorch and append the rows to results/<workload>.csv.

    scripts/torch_peer.py --workload workloads/softmax.py --dtype bf16 --axes dim=1024,4096 --device cuda:0
    scripts/torch_peer.py --workload workloads/layernorm.py --mode bwd
    scripts/torch_peer.py --cases cases.txt --ways eager
    scripts/torch_peer.py --check workloads/*.py --mode fwd,train --dtype f32,bf16 --device cpu --max-elements 1048576

Three ways to run it (--ways): eager, torch.compile, torch.compile(mode="max-autotune-no-cudagraphs"). On a GPU the time
of one call is the sum of its kernel times as CUPTI records them (torch.profiler). Before every call lines that are kept
in the L2 become lines like others, and a kernel of ours rewrites a buffer of twice the L2; it cannot be part of the
sum: it is found by its name, and marks where the next call begins. The columns are read from reports/columns.def, the
one definition of the format.

--cases times many in one process, as its start takes longer than most of them: a line of the file is `WORKLOAD DTYPE
PRECISION [--mode=MODE] [--eval] [--ways=WAYS] name=value ...`, with a precision of `-` if PyTorch's flags are to stay as the
workload leaves them, `default` for PyTorch's own (TF32 for convolutions, not for products); what workloads/ has is named
without a path. The rows of each are appended before the next begins, one that the results have already is passed over, and
what fails is said: a file that cannot be loaded is a row, too (launch_error). --progress FILE gets a JSON line when a way of a
case begins, and one when it has ended: its status, and what the columns do not hold: launches and kernels (of a GPU: name,
launches and us of a call), temporary_mb (memory of a GPU beside inputs, parameters and outputs), seconds, and the error.

--eval calls the model's eval() first, as that of `warpsmith bench`; the rows' mode is then eval, eval_bwd or eval_train. The
ways flash, cudnn, efficient and math are eager with that backend of scaled_dot_product_attention alone, and flex is
torch.compile of what scripts/torch_flex.py writes with flex_attention for the workload; their rows are in DIR/peers/.

--compile-only fills the cache of torch.compile's ways (TORCHINDUCTOR_CACHE_DIR) and times nothing; what is timed later finds
its code there. With --jobs N N processes share the cases. Configs are chosen by times that the compiler takes on a GPU: only
one of these processes takes them at a time.

--check compares instead: `warpsmith run FILE --save` ($WARPSMITH, default build/warpsmith) computes outputs, and in
mode train gradients; PyTorch computes them from the very inputs, parameters and tangents that were saved. An output is
ok if |got - want| <= tolerance * (|want| + rms(want)) everywhere, as in tuner/check.c. In low precision PyTorch rounds
after every operator and warpsmith does not: an output that differs is held against PyTorch in f64 before it is called
WRONG, and may be 4 times as far from that as PyTorch in the same type is. What torch.compile computes is judged against
eager in the same way before its times count. Random numbers drawn in forward are not PyTorch's, so such a workload
cannot be compared.

Exit codes: 0 fine, 1 outputs differ or the result file is foreign, 2 usage, 3 no torch or no such device."""

import argparse
import contextlib
import copy
import csv
import ctypes
import datetime
import fcntl
import gc
import io
import itertools
import json
import os
import pathlib
import platform
import re
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave nothing in the folder of the scripts
# PyTorch's OpenMP, once it is loaded, may bind this thread to one core: what it may use is read before.
CPUS = os.sched_getaffinity(0)
import torch_check
from torch_workload import ROOT, Failure, as_cell, build, cpu_name, exit_with, load_workload, tensors_of

WAYS = {
    "eager": ("torch_eager", ""),
    "compile": ("torch_compile", "default"),
    "max-autotune": ("torch_compile", "max-autotune-no-cudagraphs"),
}
BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
PEERS = {**{name: ("torch_eager", name) for name in BACKENDS}, "flex": ("torch_compile", "flex")}
ALL_WAYS = {**WAYS, **PEERS}
# Are products, and convolutions and recurrent layers, computed in TF32?
TF32 = {"strict": (False, False), "f32": (False, False), "tf32": (True, True), "default": (False, True)}
PRECISIONS = list(TF32)
MODES = ["fwd", "bwd", "train"]
TOLERANCE = {"f64": 1e-7, "f32": 1e-3, "f16": 1e-2, "bf16": 4e-2}


# ---- modes -----------------------------------------------------------------------------------------------------------


class Differentiated:
    """One mode of a workload as something to call: the forward, outputs and gradients, or the gradients alone.
    Gradients are taken of floating arguments and of parameters that require them, as `warpsmith --mode train` does."""

    def __init__(self, torch, mode, model, inputs):
        self.torch, self.mode, self.inputs = torch, mode, inputs
        self.wants, self.tangents = [], None
        if mode != "fwd":
            self.wants = [t.requires_grad_() for t in tensors_of(torch, inputs) if t.is_floating_point()]
            kept = model.parameters() if hasattr(model, "parameters") else []
            self.wants += [t for t in kept if t.requires_grad]

    def outputs(self, run):
        return [t for t in tensors_of(self.torch, run(*self.inputs)) if t.requires_grad]

    def gradients(self, outputs, retain):
        if self.tangents is None:  # of every way to run it the same
            loss = len(outputs) == 1 and outputs[0].dim() == 0
            make = self.torch.ones_like if loss else self.torch.randn_like
            self.tangents = [make(t) for t in outputs]
        found = self.torch.autograd.grad(outputs, self.wants, self.tangents, retain_graph=retain, allow_unused=True)
        return [self.torch.zeros_like(w) if g is None else g for g, w in zip(found, self.wants)]

    def call_of(self, run):
        if self.mode == "fwd":
            return lambda: run(*self.inputs)
        if self.mode == "bwd":
            outputs = self.outputs(run)
            return lambda: self.gradients(outputs, True)

        def train():
            outputs = self.outputs(run)
            return [t.detach() for t in outputs] + self.gradients(outputs, False)

        return train


def max_error(torch, got, want):
    """Largest |got - want| / (1 + |want|) over all outputs; inf if NaNs differ. In pieces: the doubles of a large output and
    what is made of them would not fit beside it."""
    worst = 0.0
    for g, w in zip(tensors_of(torch, got), tensors_of(torch, want), strict=True):
        for g, w in zip(g.flatten().split(1 << 26), w.flatten().split(1 << 26), strict=True):
            g, w = g.double(), w.double()
            same = (g == w) | (g.isnan() & w.isnan())
            error = torch.where(same, torch.zeros_like(w), (g - w).abs() / (1 + w.abs()))
            if error.numel():
                worst = max(worst, float("inf") if error.isnan().any() else error.max().item())
    return worst


# ---- clocks ----------------------------------------------------------------------------------------------------------


def driver_cuda_version():
    """The newest CUDA that the driver speaks, as "13.0"."""
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


class CudaClock:
    """Kernel times of one call, from CUPTI records."""

    timer = "cupti"
    launched = {}  # of a call, once samples() was called: how many, and [name, launches, us] of the longest

    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        torch.cuda.set_device(device)
        self.driver = ctypes.CDLL("libcuda.so.1")
        l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size
        self.buffer = torch.zeros(2 * l2_bytes, dtype=torch.int8, device=device)
        # Nothing else negates bytes bit by bit, so this name belongs to the flush alone.
        names = {event.name for event in self.record(self.flush)}
        if len(names) != 1:
            raise Failure(3, f"expected one kernel for the L2 flush, CUPTI recorded {sorted(names)}")
        self.flush_name = names.pop()

    def flush(self):
        self.buffer.bitwise_not_()

    def room_of(self, call):
        """Megabytes that a call takes beside what is there and what it returns."""
        cuda = self.torch.cuda
        cuda.synchronize()
        cuda.reset_peak_memory_stats(self.device)
        before = cuda.memory_allocated(self.device)
        output = call()
        cuda.synchronize()
        left = max(cuda.memory_allocated(self.device) - before, 0)
        del output
        return max(cuda.max_memory_allocated(self.device) - before - left, 0) / 1e6

    def forget_persisting(self):
        """Lines of the L2 that a kernel has asked to stay there would outlive the flush."""
        self.torch.cuda.synchronize()
        status = self.driver.cuCtxResetPersistingL2Cache()
        if status not in (0, 801):  # 801: a device without such lines
            raise Failure(3, f"cuCtxResetPersistingL2Cache: error {status}")

    def record(self, work):
        """Device activity of work() in the order it ran."""
        torch = self.torch
        torch.cuda.synchronize()
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities, acc_events=True) as profiler:
            work()
            torch.cuda.synchronize()
        found = [event for event in profiler.events() if event.device_type.name == "CUDA"]
        return sorted(found, key=lambda event: event.time_range.start)

    def samples(self, call, count):
        host = []

        def work():
            for _ in range(count):
                self.forget_persisting()
                self.flush()
                begin = time.perf_counter()
                call()
                host.append(1e6 * (time.perf_counter() - begin))

        device, launches, kernels = [], [], {}
        for event in self.record(work):
            if event.name == self.flush_name:
                device.append(0.0)
                launches.append(0)
            elif device:
                us = event.time_range.elapsed_us()
                device[-1] += us
                launches[-1] += 1
                had = kernels.get(event.name, (0, 0.0))
                kernels[event.name] = had[0] + 1, had[1] + us
        if len(device) != count or min(device) <= 0:
            raise Failure(3, f"CUPTI recorded {len(device)} of {count} calls")
        longest = sorted(kernels.items(), key=lambda item: -item[1][1])[:40]
        self.launched = {
            "launches": statistics.median_low(launches),
            "kernels": [[name[:120], round(n / count, 2), round(us / count, 3)] for name, (n, us) in longest],
        }
        return device, host

    def facts(self):
        properties = self.torch.cuda.get_device_properties(self.device)
        clock, temperature, driver = self.query("clocks.sm,temperature.gpu,driver_version")
        return {
            "device": properties.name,
            "arch": f"sm_{properties.major}{properties.minor}",
            "driver": f"{driver} (CUDA {driver_cuda_version()})",
            "clock_mhz": clock,
            "temp_c": temperature,
        }

    def query(self, fields):
        uuid = f"GPU-{self.torch.cuda.get_device_properties(self.device).uuid}"
        command = ["nvidia-smi", "-i", uuid, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
        try:
            output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
            values = [value.strip() for value in output.strip().split(",")]
        except (OSError, subprocess.SubprocessError):
            values = []
        return values if len(values) == 3 else ["", "", ""]


def physical_cores():
    """Of the CPUs this process may use, as warpsmith counts them: one of each core."""
    cores = set()
    for cpu in CPUS:
        siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.add(siblings.read_text().strip() if siblings.exists() else cpu)
    return len(cores)


class CpuClock:
    """Wall time of one call, caches overwritten before it. One thread a core, and what PyTorch frees stays with the
    process: the C library would give large tensors back, and every call would wait for new pages."""

    timer = "monotonic"
    launched = {}
    M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4

    def __init__(self, torch):
        torch.set_num_threads(physical_cores())
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt:
            mallopt(self.M_MMAP_MAX, 0)
            mallopt(self.M_TRIM_THRESHOLD, 2**31 - 1)
        size = pathlib.Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
        cache = int(size.read_text().strip().rstrip("K")) * 1024 if size.exists() else 32 << 20
        self.buffer = torch.zeros(2 * cache, dtype=torch.int8)

    def room_of(self, _):
        return None

    def samples(self, call, count):
        times = []
        for _ in range(count):
            self.buffer.bitwise_not_()
            begin = time.perf_counter()
            call()
            times.append(1e6 * (time.perf_counter() - begin))
        return times, times

    def facts(self):
        return {
            "device": cpu_name(),
            "arch": platform.machine(),
            "driver": f"{platform.system()} {platform.release()}",
        }


def summary(times):
    """n, median, quartiles, minimum, and half the 95 % confidence interval of the median (by ranks)."""
    ordered = sorted(times)
    n = len(ordered)
    q1, median, q3 = statistics.quantiles(ordered, n=4, method="inclusive")
    reach = 0.98 * n**0.5
    low = ordered[max(0, int(n / 2 - reach))]
    high = ordered[min(n - 1, int(n / 2 + reach))]
    return {
        "n": n,
        "median_us": median,
        "q1_us": q1,
        "q3_us": q3,
        "min_us": ordered[0],
        "ci_us": (high - low) / 2,
    }


# ---- the result file -------------------------------------------------------------------------------------------------


def result_columns():
    return re.findall(r"^COLUMN\(\w+, (\w+)\)", (ROOT / "reports/columns.def").read_text(), re.M)


def result_schemas():
    """[(1, "compile_ms"), (2, "search_s")]: a schema's number and its last column, oldest first."""
    found = re.findall(r"^SCHEMA\((\d+), (\w+)\)", (ROOT / "reports/columns.def").read_text(), re.M)
    return [(int(number), last) for number, last in found]


def of_file(path, columns, rows):
    """The columns and rows as the file takes them: one of an older schema stays of that schema."""
    try:
        header = path.open(newline="").readline().rstrip("\n").split(",")
    except OSError:
        return columns, rows
    for number, last in result_schemas():
        if header == columns[: columns.index(last) + 1] != columns:
            return header, [{**row, "schema": number} for row in rows]
    return columns, rows


def append_rows(path, columns, rows):
    """Whole rows under a lock in one write, or none: the rules of reports/csv_table.c."""
    columns, rows = of_file(path, columns, rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([as_cell(row.get(name, "")) for name in columns] for row in rows)
    header = ",".join(columns) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        length = os.fstat(fd).st_size
        if length and os.pread(fd, len(header), 0) != header.encode():
            raise Failure(1, f"{path} has another header; nothing was written")
        if length and os.pread(fd, 1, length - 1) != b"\n":
            raise Failure(1, f"{path} ends in a half-written row; `warpsmith bench` moves it aside")
        batch = ((header if length == 0 else "") + text.getvalue()).encode()
        try:
            if os.write(fd, batch) != len(batch):
                raise OSError("disk full")
            os.fsync(fd)
        except OSError as error:
            os.ftruncate(fd, length)
            raise Failure(3, f"cannot append to {path}: {error}; nothing was written")
    finally:
        os.close(fd)


def git_revision():
    try:
        command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


# ---- one benchmark ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def on_all_cpus():
    """The compilers that this thread starts would else share the one core that it may be bound to."""
    bound = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CPUS)
    try:
        yield
    finally:
        os.sched_setaffinity(0, bound)


def program_of(torch, way, model, path, axes, device):
    """What one way calls."""
    if way in BACKENDS:
        attention = torch.nn.attention

        def run(*inputs):
            with attention.sdpa_kernel(getattr(attention.SDPBackend, BACKENDS[way])):
                return model(*inputs)

        return run
    if way == "flex":
        import torch_flex

        return torch.compile(torch_flex.program(torch, path.stem, model, axes, device))
    mode = WAYS[way][1]
    return torch.compile(model, mode=mode) if mode else model


def time_way(torch, clock, run, what, compiled, samples):
    """Compile (or not), warm up, time. Returns the columns of one way to run it, what they do not hold, and its output."""
    torch._dynamo.reset()
    with torch.set_grad_enabled(what.mode != "fwd"):
        begin = time.perf_counter()
        with on_all_cpus():
            call = what.call_of(run)
            output = call()
        for tensor in tensors_of(torch, output):
            tensor.sum().item()  # wait for it
        first_ms = 1e3 * (time.perf_counter() - begin)
        for _ in range(3):
            call()
        room = clock.room_of(call)
        device, host = clock.samples(call, samples)
    row = summary(device)
    row["host_us"] = statistics.median(host)
    if compiled:
        row["compile_ms"] = first_ms
    return row, {**clock.launched, **({} if room is None else {"temporary_mb": round(room, 3)})}, output


def exact_output(torch, what, model):
    """What eager computes in f64 of the same inputs, parameters and tangents; None if the workload insists on a type, or
    that does not fit in memory."""
    as_f64 = lambda t: t.detach().double() if t.is_floating_point() else t
    try:
        inputs = [as_f64(v) if isinstance(v, torch.Tensor) else v for v in what.inputs]
        twin = copy.deepcopy(model).double() if isinstance(model, torch.nn.Module) else model
        exact = Differentiated(torch, what.mode, twin, inputs)
        exact.tangents = what.tangents and [as_f64(t) for t in what.tangents]
        with torch.set_grad_enabled(what.mode != "fwd"):
            return exact.call_of(twin)()
    except RuntimeError:
        return None


def is_close(torch, what, model, dtype_name, error, output, want):
    """Sums of gradients in bf16 are far from each other, and eager's are no better than the others."""
    if error <= TOLERANCE[dtype_name]:
        return True
    exact = exact_output(torch, what, model)
    return exact is not None and max_error(torch, output, exact) <= torch_check.MARGIN * max_error(torch, want, exact)


def open_workload(torch, case, device, point):
    names, axes = load_workload(case.path, point)
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}[case.dtype]
    model, inputs, kept = build(torch, names, case.path, dtype, device)
    if case.eval and isinstance(model, torch.nn.Module):
        model.eval()
    return axes, model, inputs, kept, Differentiated(torch, case.mode, model, inputs)


def set_precision(torch, precision):
    """PyTorch's flags, as `warpsmith --precision` means it; without one they are what the file has set."""
    if precision:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = TF32[precision]


def precision_of(torch, precision):
    """What the row says: "strict" or "default" if asked for, else by the flag of products."""
    matmul = torch.backends.cuda.matmul
    tf32 = matmul.fp32_precision == "tf32" if hasattr(matmul, "fp32_precision") else matmul.allow_tf32
    return "tf32" if tf32 else precision or "f32"


def in_words(error):
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def axes_text(axes):
    return " ".join(f"{name}={axes[name]}" for name in sorted(axes))


def bench(torch, clock, case, device, point, ways, samples, say):
    """The rows of one point of the sweep, by way. say(way, row, ...) is told what else there is to know of each."""
    rows, want, axes, failed = {}, None, None, None
    for way in ways:
        role, config = ALL_WAYS[way]
        row = {"role": role, "config": config, "status": "ok", "axes": axes_text(axes or point)}
        row["precision"] = case.precision or "f32"
        begin, more, output = time.perf_counter(), {}, None
        say(way, status="begun")
        try:
            if failed:
                raise failed
            if axes is None:
                try:
                    axes, model, inputs, kept, what = open_workload(torch, case, device, point)
                    set_precision(torch, case.precision)
                except Exception as error:  # of the file, under PyTorch, or of the memory that it wants: no way can run it
                    failed = error
                    raise
                row["axes"] = axes_text(axes)
            row["precision"] = precision_of(torch, case.precision) if device != "cpu" else case.precision or "f32"
            run = program_of(torch, way, model, case.path, axes, device)
            measured, more, output = time_way(torch, clock, run, what, role == "torch_compile", samples)
            want = output if want is None else want
            row.update(measured)
            error = max_error(torch, output, want)
            if not is_close(torch, what, model, case.dtype, error, output, want):
                row["status"] = "wrong"
            touched = tensors_of(torch, inputs) + kept + tensors_of(torch, output) + (what.tangents or [])
            row["bytes"] = sum(tensor.nbytes for tensor in touched)
            row["gbps"] = row["bytes"] / row["median_us"] / 1e3
            row.update(clock.facts())
            said = f"{row['median_us']:10.2f} us  {row['gbps']:8.0f} GB/s  error {error:.1e}  {row['status']}"
        except Failure:
            raise
        except Exception as error:  # the compiler of a peer may fail in any way: that is a result too
            row.update(clock.facts(), status="compile_error" if role == "torch_compile" and not failed else "launch_error")
            more["error"] = in_words(error)
            said = f"{row['status']}: {more['error'][:80]}"
        more["seconds"] = round(time.perf_counter() - begin, 2)
        say(way, status=row["status"], **more)
        print(f"{case.path.stem} {case.row_mode} {case.dtype} {row['axes']}  {role:13} {config:26} {said}", flush=True)
        rows[way] = row
    return rows


def compile_only(torch, case, device, point, way):
    axes, model, _, _, what = open_workload(torch, case, device, point)
    set_precision(torch, case.precision)
    torch._dynamo.reset()
    with torch.set_grad_enabled(case.mode != "fwd"), on_all_cpus():
        what.call_of(program_of(torch, way, model, case.path, axes, device))()


COMPILE_LIMIT = 120  # seconds for one case


def one_at_a_time(function, fd):
    """The function, as one process that has the open file calls it, while the others wait."""
    def alone(*args, **kwargs):
        fcntl.lockf(fd, fcntl.LOCK_EX)
        try:
            return function(*args, **kwargs)
        finally:
            fcntl.lockf(fd, fcntl.LOCK_UN)

    return alone


def compile_share(torch, given, cases, todo):
    """One process of compile_all: takes the next number of a case from the open file until there is none."""
    try:
        if given.device == "cpu":
            CpuClock(torch)  # the code is for as many threads as will be timed
        else:
            need_device(torch, given.device)
            from torch._inductor.runtime.benchmarking import benchmarker

            benchmarker.benchmark_gpu = one_at_a_time(benchmarker.benchmark_gpu, todo)
    except BaseException:
        os.lseek(todo, 0, os.SEEK_END)  # nor could another process
        raise

    def taken():
        while number := os.read(todo, 4):
            signal.alarm(COMPILE_LIMIT)
            number = int.from_bytes(number, "little")
            yield number, cases[number]

    return bench_all(torch, None, given, taken())


def compile_all(torch, given, cases):
    """Compiles in given.jobs processes. One that died, or was at a case for too long, is followed by another, which goes on
    with the next case. Returns the worst exit code."""
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(b"".join(number.to_bytes(4, "little") for number in range(len(cases))))
        file.seek(0)  # all processes share the open file, and where they are in it
        running, worst = 0, 0
        while True:
            while running < min(given.jobs, len(cases)) and file.tell() < 4 * len(cases):
                if not os.fork():
                    exit_at_once(lambda: compile_share(torch, given, cases, file.fileno()))
                running += 1
            if not running:
                return worst
            code = os.waitstatus_to_exitcode(os.wait()[1])
            if code < 0:
                print(f"torch_peer: a case was given up: signal {-code}", file=sys.stderr)
            running, worst = running - 1, max(worst, code if code >= 0 else 1)


def exit_at_once(main):
    """As exit_with, without what a process does that was not forked."""
    code = 1
    try:
        code = main()
    except Failure as failure:
        code = failure.code
        print(f"torch_peer: {failure}", file=sys.stderr)
    except Exception as error:
        print(f"torch_peer: {in_words(error)}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def need_device(torch, device):
    if device == "cpu":
        return
    if not re.fullmatch(r"cuda:\d+", device):
        raise Failure(2, f"--device is cpu or cuda:N, not '{device}'")
    if not torch.cuda.is_available() or int(device[5:]) >= torch.cuda.device_count():
        raise Failure(3, f"PyTorch sees no {device}")


def open_clock(torch, device):
    need_device(torch, device)
    return CpuClock(torch) if device == "cpu" else CudaClock(torch, device)


class Case:
    """A file, how it is run, and its points; ways: those of its line, if that says some."""

    def __init__(self, path, dtype, precision, points, mode="fwd", eval=False, ways=None):
        self.path, self.dtype, self.precision, self.points = path, dtype, precision, points
        self.mode, self.eval, self.ways = mode, eval, ways
        self.row_mode = {"fwd": "eval", "bwd": "eval_bwd", "train": "eval_train"}[mode] if eval else mode

    def rows_file(self, results, way):
        """Where a way's rows are: what is no way of the workload alone has files of its own."""
        return (results / "peers" if way in PEERS else results) / f"{self.path.stem}.csv"


def read_case(line, mode="fwd"):
    """A line of --cases; None if it is none."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    options = [word.partition("=")[::2] for word in words if word.startswith("--")]
    name, dtype, precision, *axes = [word for word in words if not word.startswith("--")] + [""] * 3
    said = {"--mode": mode, "--eval": None, "--ways": "", **dict(options)}
    ways = said["--ways"].split(",") if said["--ways"] else None
    known = len(said) == 3 and len(dict(options)) == len(options) and said["--eval"] in (None, "")
    if not known or dtype not in TOLERANCE or precision not in (*PRECISIONS, "-") or said["--mode"] not in MODES:
        return None
    if not all(way in ALL_WAYS for way in ways or ()):
        return None
    named = ROOT / "workloads" / f"{name}.py"
    file = named if named.exists() else pathlib.Path(name)
    points = parse_axes([axis for axis in axes if axis])
    precision = precision if precision != "-" else None
    return Case(file, dtype, precision, points, said["--mode"], said["--eval"] is not None, ways)


def read_cases(path, mode="fwd"):
    """The lines of --cases; mode is that of lines that do not say theirs."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise Failure(2, f"{path}: {error.strerror}")
    cases = [read_case(line, mode) for line in lines]
    for number, (case, line) in enumerate(zip(cases, lines), 1):
        if not case:
            raise Failure(2, f"{path}:{number}: a line is WORKLOAD DTYPE PRECISION [--mode=MODE] [--eval] [--ways=WAYS] "
                          f"name=value ..., not '{line}'")
    return cases


def run_of(torch, clock):
    """What all rows of this process have in common."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "schema": result_schemas()[-1][0],
        "run_id": now.strftime("%Y%m%dT%H%M%SZ") + f"-torch-{os.getpid()}",
        "timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "git_rev": git_revision(),
        "host": socket.gethostname(),
        "toolchain": f"torch {torch.__version__}",
        "timer": clock.timer,
        "kernel": "program",
        "is_winner": 0,
    }


def has_row(results, case, point, way):
    """Do the results have a time of this case, in this way?"""
    file = case.rows_file(results, way)
    if not file.exists():
        return False
    _, axes = load_workload(case.path, point)
    want = {"mode": case.row_mode, "dtype": case.dtype, "precision": case.precision, "axes": axes_text(axes)}
    with file.open(newline="") as opened:
        rows = [row for row in csv.DictReader(opened) if all(row.get(k) == v for k, v in want.items())]
    return any((row["role"], row["config"]) == ALL_WAYS[way] and row["status"] in ("ok", "wrong") for row in rows)


def bench_case(torch, clock, given, case, run, say):
    """Its rows, appended to the workload's file. 1 if an output was wrong, or nothing could be timed."""
    if given.compile_only:
        ways = [way for way in case.ways or given.ways if ALL_WAYS[way][0] == "torch_compile"]
        for point in case.points:
            for way in ways:
                say(way, status="begun")
                compile_only(torch, case, given.device, point, way)
                say(way, status="ok")
        return 0
    found = []
    for point in case.points:
        ways = case.ways or given.ways
        missing = [way for way in ways if not given.cases or not has_row(given.results, case, point, way)]
        for way in ways:
            if way not in missing:
                say(way, status="passed over")
        if missing:
            found += bench(torch, clock, case, given.device, point, missing, given.samples, say).items()
    common = {**run, "workload": case.path.stem, "mode": case.row_mode, "dtype": case.dtype}
    for file in dict.fromkeys(case.rows_file(given.results, way) for way, _ in found):
        rows = [{**common, **row} for way, row in found if case.rows_file(given.results, way) == file]
        append_rows(file, result_columns(), rows)
        print(f"{len(rows)} rows appended to {file}", flush=True)
    if any(row["status"] == "wrong" for _, row in found):
        return 1
    return 1 if found and all(row["status"] != "ok" for _, row in found) else 0


def forget(torch, device):
    """Nothing of the last case is left in the way of the next. A GPU that an illegal access has stopped cannot go on."""
    torch._dynamo.reset()
    gc.collect()
    if device != "cpu":
        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except RuntimeError as error:
            raise Failure(3, f"the device cannot go on: {in_words(error)}")


def bench_all(torch, clock, given, numbered):
    """(number, case) after (number, case); what fails of them is said. Returns the worst exit code."""
    run = run_of(torch, clock) if clock else {}
    flags, worst = (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32), 0
    for number, case in numbered:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = flags
        say = progress_of(given.progress, number)
        try:
            worst = max(worst, bench_case(torch, clock, given, case, run, say))
        except Exception as error:
            code = error.code if isinstance(error, Failure) else 1
            if not given.cases or code == 3:
                raise
            error = str(error) if isinstance(error, Failure) else in_words(error)
            say("", status="failed", error=error)
            print(f"torch_peer: {case.path}: {error}", file=sys.stderr)
            worst = max(worst, code)
        if given.cases:
            forget(torch, given.device)
    return worst


def parse_axes(pairs):
    """["dim=1024,4096", "rows=8"] -> [{dim: 1024, rows: 8}, {dim: 4096, rows: 8}], values still text."""
    for pair in pairs:
        if not re.fullmatch(r"\w+=[^=]+", pair):
            raise Failure(2, f"--axes takes name=value, not '{pair}'")
    split = [pair.split("=") for pair in pairs]
    points = itertools.product(*[values.split(",") for _, values in split])
    return [dict(zip([name for name, _ in split], point)) for point in points]


def listed(known, text, option):
    """ "fwd,train" -> ["fwd", "train"]"""
    for word in text.split(","):
        if word not in known:
            raise Failure(2, f"{option} has no '{word}'; it takes: {', '.join(known)}")
    return text.split(",")


def progress_of(path, number):
    """say(way, ...): a line of --progress about the case of this number; way "": whatever is left of it."""

    def say(way, **facts):
        if path:
            with path.open("a") as file:
                file.write(json.dumps({"case": number, "way": way, **facts}) + "\n")

    return say


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--workload", type=pathlib.Path, metavar="FILE")
    what.add_argument("--cases", type=pathlib.Path, metavar="FILE", help="a line each: workload, dtype, precision, axes")
    what.add_argument("--check", nargs="+", type=pathlib.Path, metavar="FILE", help="compare warpsmith's outputs")
    parser.add_argument("--mode", default="fwd", help="fwd, bwd or train; --check takes fwd,train")
    parser.add_argument("--eval", action="store_true", help="call the model's eval() first")
    parser.add_argument("--dtype", default="f32", help="f32, bf16, f16 or f64; --check takes several")
    parser.add_argument("--precision", choices=PRECISIONS,
                        help="of --workload: tf32 sets allow_tf32 of products and convolutions, default that of "
                        "convolutions, the others clear it; without it PyTorch's flags are as the file leaves them")
    parser.add_argument("--axes", nargs="*", default=[], metavar="k=v[,v]")
    parser.add_argument("--ways", default=",".join(WAYS), help="of " + ",".join(ALL_WAYS) + ": those to time; %(default)s")
    parser.add_argument("--progress", type=pathlib.Path, metavar="FILE", help="of --cases")
    parser.add_argument("--compile-only", action="store_true", help="time nothing, write nothing")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="of --compile-only: processes; default this one alone")
    parser.add_argument("--results", default="results", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--device", default="cuda:0", help="cuda:N or cpu")
    parser.add_argument("--samples", type=int, default=30, help="at least 20")
    parser.add_argument("--csv", type=pathlib.Path, metavar="FILE", help="of --check: " + torch_check.COLUMNS)
    parser.add_argument("--max-elements", type=int, default=0, metavar="N", help="of --check: halve axes to this size")
    given = parser.parse_args()
    given.mode = listed(["fwd", "train"] if given.check else MODES, given.mode, "--mode")
    given.dtype = listed(sorted(TOLERANCE), given.dtype, "--dtype")
    given.ways = listed(list(ALL_WAYS), given.ways, "--ways")
    if not given.check:
        if len(given.mode) > 1 or len(given.dtype) > 1:
            raise Failure(2, "--workload takes one --mode and one --dtype")
        given.mode, given.dtype = given.mode[0], given.dtype[0]
    if given.samples < 20:
        raise Failure(2, "--samples: fewer than 20 say too little")
    if given.jobs < 0 or given.jobs and not given.compile_only:
        raise Failure(2, "--jobs is a number of processes that --compile-only takes")
    if given.jobs:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # else each of them has a process for each core
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # a process that has touched CUDA cannot fork
    points = parse_axes(given.axes)
    if given.cases:
        cases = read_cases(given.cases, given.mode)
    elif not given.check:
        cases = [Case(given.workload, given.dtype, given.precision, points, given.mode, given.eval)]
    try:
        import torch

        if not given.check:
            import torch._dynamo
            import torch._functorch.config
            import torch.nn.attention
            import torch.profiler
    except ImportError as error:
        raise Failure(3, f"PyTorch is needed here: {error}")
    if given.check:
        need_device(torch, given.device)
        return torch_check.check(torch, given, points)
    torch._functorch.config.donated_buffer = False  # --mode bwd runs one backward many times
    if given.jobs:
        return compile_all(torch, given, cases)
    return bench_all(torch, open_clock(torch, given.device), given, enumerate(cases))


if __name__ == "__main__":
    exit_with("torch_peer", main)
