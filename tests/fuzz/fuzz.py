#!/usr/bin/env python3
"""Whatever a user may hand to the command, damaged at random: nothing but an answer or one message may come of it.

    fuzz.py BUILD [--seconds 600] [--seed 1] [--jobs N] [--parts graphs,workloads,...] [--found DIR] [--counts FILE]
    fuzz.py BUILD --replay PART:SEED              one input again
    fuzz.py BUILD --inputs FILE...                files that were found before, each as its part does

BUILD holds `warpsmith`, `tests/fuzz/graph_fuzz` and `tests/unit/test_capture_natives`, built with the address and undefined-behaviour sanitizers. Parts:

    graphs      random graphs through the whole compiler (graph_fuzz.c)
    workloads   the files of workloads/ and tests/, with tokens and lines changed: run, explain, compile
    natives     every function in C with arguments at random (tests/unit/test_capture_natives.c)
    programs    programs by a grammar, with tensors (torch_gen.py) and without (python_gen.py): under two backends
    tables      result files with damage: report, compare
    stores      stores with damage: cache, run, bench

A finding is a crash, a word of a sanitizer, a "bug at", more than CPU_SECONDS or MEMORY_MB, an exit status that does not
exist, a failure without a message, a result that the reference or the other backend contradicts. It is printed with its
part and seed, made smaller where it is text, and written to DIR (tests/fuzz/inputs, graphs to tests/fuzz/found). The same seed makes the same inputs.
Exit status: 0 no findings, 1 findings, 2 a wrong call."""
import argparse
import collections
import csv
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings

from python_gen import Programs
from torch_gen import TorchPrograms

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, '../..'))
CPU_SECONDS = 60   # of one process; the sanitizers make three seconds of one, and compilers run in processes of their own
WALL_SECONDS = 600 # for machines that are busy with other things
MEMORY_MB = 3000   # resident; the command is told of seven eighths of it (ulimit -m), as a machine's size would tell it
SHRINK_SECONDS = 90
PARTS = ('graphs', 'natives', 'workloads', 'programs', 'tables', 'stores')

SANITIZER = re.compile(r'(?:ERROR|WARNING): \w*Sanitizer: ?([\w-]*)|runtime error: ([^\n]*)')
FRAME = re.compile(r'#\d+ 0x[0-9a-f]+ in (\w+) [^\n]*?((?:compiler|tuner|reports)/[\w/]+\.c)')
BUG = re.compile(r'bug at ([^\n:]*:\d+): ([^\n]*)')
WRONG = re.compile(r'(the \w+ program is wrong: [^\n]*|(?:is|at [\d, []+\]?) [-\w.+]+, expected [-\w.+]+)')
UNCOMPILED = re.compile(r'compile_error: [^\n]*')


class Outcome:
    def __init__(self, words, code, out, err, how):
        self.words, self.code, self.out, self.err, self.how = words, code, out, err, how

    def finding(self, exits=range(6)):
        """(what is the same each time, all that is to be said), or None."""
        said = self.err + self.out
        m = SANITIZER.search(said)
        if m:
            frames = FRAME.findall(said[m.start():])[:2]
            where = re.search(r'((?:compiler|tuner|reports)/[\w/]+\.[ch]):\d+:\d+: runtime error', said)
            name = m.group(1) or re.sub(r'-?\d[\dxa-f.]*', 'N', m.group(2))
            return f"sanitizer: {name} in {where.group(1) if where else ' < '.join(f[0] for f in frames)}", said[m.start():][:3000]
        m = BUG.search(said)
        if m:
            return f'bug at {re.sub(":[0-9]+", "", m.group(1))}: {re.sub("[0-9]+", "N", m.group(2))[:80]}', said[-2000:]
        if self.how:
            return self.how, said[-1000:]
        if self.code < 0:
            return f'signal {-self.code}', said[-2000:]
        if self.code not in exits:
            return f'exit status {self.code}', said[-2000:]
        if self.code in (1, 2, 3) and not said.strip():
            return f'exit status {self.code} without a word', ''
        if len(self.err) > 20000:
            return 'a message of more than 20,000 characters', self.err[:500]
        m = UNCOMPILED.search(said)
        if m:
            return 'text that the compiler of kernels refuses', m.group()
        m = WRONG.search(said)
        if m:
            return 'a wrong result', m.group(1)
        return None


class Runner:
    def __init__(self, build):
        self.build = os.path.realpath(build)
        self.warpsmith = os.path.join(self.build, 'warpsmith')
        self.stopped = threading.Event()

    def run(self, words, folder, cwd=ROOT, cpu=CPU_SECONDS):
        env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'WS_LOGS')}
        env.update(TMPDIR=folder, WARPSMITH_CACHE=os.path.join(folder, 'store.db'), WARPSMITH_CPU_CACHE='4M', OMP_NUM_THREADS='2',
                   OMP_WAIT_POLICY='passive', UBSAN_OPTIONS='print_stacktrace=1',
                   ASAN_OPTIONS=f'detect_leaks=0:hard_rss_limit_mb={MEMORY_MB}:allocator_may_return_null=1:handle_abort=0')
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            p = subprocess.Popen(['prlimit', f'--cpu={cpu}:{cpu + 5}', f'--rss={MEMORY_MB * 7 << 17}', f'--fsize={1 << 28}', '--core=0',
                                  *words], env=env, cwd=cwd,
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
            end, how = time.time() + WALL_SECONDS, ''
            while True:
                try:
                    p.wait(0.5)
                    break
                except subprocess.TimeoutExpired:
                    if time.time() > end or self.stopped.is_set():
                        how = 'hangs' if time.time() > end else 'stopped'
                        break
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            p.wait()
            texts = []
            for f in (out, err):
                f.seek(0)
                texts.append(f.read(1 << 21).decode('utf-8', 'replace'))
        if p.returncode == -signal.SIGXCPU:
            how = f'takes more than {cpu} s'
        if 'hard rss limit exhausted' in texts[1]:
            how = f'takes more than {MEMORY_MB} MB'
        return Outcome(words, p.returncode, *texts, how)


# ---- damage ----------------------------------------------------------------------------------------------------------

PYTHON = re.compile(r'''"""(?:.|\n)*?"""|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|\#[^\n]*|\d[\w.]*|[A-Za-z_]\w*|\n[ ]*|[ ]+|==|!=|<=|>=|\*\*|//|<<|>>|->|\S''')
NUMBERS = ('0', '1', '-1', '2', '3', '7', '16', '33', '127', '128', '255', '1024', '65536', '2**31', '2**31 - 1', '-2**31', '2**40', '2**62',
           '-2**63', '2**63', '10**30', '0.0', '-0.0', '0.5', '1e-30', '1e30', '1e308', "float('inf')", "float('nan')", '1j', 'True', 'None')
NAMES = ('torch.float16 torch.bfloat16 torch.float64 torch.int64 torch.int8 torch.uint8 torch.bool x y self dim None True int len range list dict '
         'tuple torch F nn print super type zip enumerate sum max min abs iter next map').split()
MARKS = '+ - * / // % ** @ < <= == != > >= & | ^ << >> ( ) [ ] { } , : . = += not and or in is ~ ; lambda'.split()


class Corpus:
    """The seeds, and the words that they are made of."""

    def __init__(self):
        self.files = []
        for folder in ('workloads', 'tests/scripts', 'tests/scripts/cases', 'tests/modules', 'tests/run/programs', 'tests/fuzz/python'):
            at = os.path.join(ROOT, folder)
            self.files += [os.path.join(at, f) for f in sorted(os.listdir(at)) if f.endswith('.py')]
        self.texts = {f: open(f, encoding='utf-8').read() for f in self.files}
        self.files = [f for f in self.files if len(self.texts[f]) < 12000]
        words = {m for t in self.texts.values() for m in re.findall(r'(?:torch|F|nn|x|self)(?:\.\w+)+', t)}
        methods = {m for t in self.texts.values() for m in re.findall(r'\.(\w+)\(', t)}
        self.names, self.methods = sorted(words) + NAMES, sorted(methods)
        self.lines = sorted({line for t in self.texts.values() for line in t.splitlines() if line.strip()})

    def damage(self, r, text):
        """One in ten need not be Python any more: most mistakes are of people who can write it. Some stay as they are."""
        if r.random() < 0.05:
            return text.encode()
        for _ in range(12):
            new = self.damage_once(r, text)
            if r.random() < 0.1 or is_python(new):
                break
        if new and r.random() < 0.02:
            data = bytearray(new.encode())
            for _ in range(r.randrange(1, 4)):
                data[r.randrange(len(data))] = r.randrange(256)
            return bytes(data)
        return new.encode('utf-8', 'surrogateescape')

    def damage_once(self, r, text):
        tokens = PYTHON.findall(text)
        for _ in range(r.choice((1, 1, 1, 2, 2, 3, 5))):
            kind = r.random()
            if kind < 0.75:
                places = [i for i, t in enumerate(tokens) if t and not t.isspace() and t[:1] != '#' and t[:3] != '"""']
                if places:
                    i = r.choice(places)
                    tokens[i] = self.other(r, i, tokens)
                continue
            lines = ''.join(tokens).split('\n')
            a, b = r.randrange(len(lines)), r.randrange(len(lines))
            if kind < 0.81:
                del lines[a]
            elif kind < 0.86:
                lines.insert(a, lines[b])
            elif kind < 0.90:
                lines[a], lines[b] = lines[b], lines[a]
            elif kind < 0.97:
                indent = re.match(' *', lines[a]).group()
                lines.insert(a, indent + r.choice(self.lines).strip())
            else:
                lines[a] = ' ' * r.choice((0, 1, 2, 4, 8)) + lines[a].strip()
            tokens = PYTHON.findall('\n'.join(lines))
        return ''.join(tokens)

    def other(self, r, i, tokens):
        """What may stand for a token: mostly something of its kind."""
        token, before = tokens[i], tokens[i - 1] if i else ''
        if r.random() < 0.04:
            return r.choice(('', token + ' ' + token))
        if token[0].isdigit():
            return r.choice(NUMBERS)
        if token[0].isalpha() or token[0] == '_':
            near = [t for k, t in enumerate(tokens) if t[:1].isalpha() and (tokens[k - 1] == '.') == (before == '.')] or NAMES
            if before == '.':
                return r.choice((lambda: r.choice(near), lambda: r.choice(self.methods), lambda: f'{token}.{r.choice(self.methods)}'))()
            return r.choice((lambda: r.choice(near), lambda: r.choice(near), lambda: r.choice(self.names), lambda: r.choice(NUMBERS),
                             lambda: f'{token}.{r.choice(self.methods)}()', lambda: f'({token}, {token})', lambda: f'-{token}'))()
        if token[0] in '\'"':
            return r.choice(("''", "'mean'", "'" + 'a' * r.choice((1, 100, 5000)) + "'", '0', 'None', "'\\x00'", "'{:>1000000000}'", "f'{x}'"))
        for group in ('+ - * / // % ** @ & | ^ << >>', '< <= == != > >= is in', '( [ {', ') ] }', 'and or', ', : = . ;'):
            if token in group.split() and r.random() < 0.85:
                return r.choice(group.split())
        return r.choice(MARKS)


def is_python(text):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            compile(text, 'x', 'exec')
        return True
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError):
        return False


def small_axes(text):
    """-D for each number at the level of the module that is large."""
    large = [(name, int(value)) for name, value in re.findall(r'^(\w+) = (\d{1,18})$', text, re.M) if int(value) > 40]
    return [word for name, value in large for word in ('-D', f'{name}={value % 29 + 1}')]


# ---- parts: an input and its commands, from a seed --------------------------------------------------------------------

class Part:
    """make: writes the input to a folder and returns its path; commands: what is done with it."""
    suffix, is_text = '.py', True

    def __init__(self, runner):
        self.runner = runner

    def make(self, r, folder):
        raise NotImplementedError

    def parts_of(self, data):
        """What stays, what may become smaller, what stays."""
        return b'', data, b''

    def judge(self, path, folder, r):
        """The first finding of this input, or None."""
        raise NotImplementedError

    def say(self, words, outcome, exits=range(6)):
        found = outcome.finding(exits)
        return found and (found[0], 'warpsmith ' + ' '.join(words), found[1])


class Workloads(Part):
    def __init__(self, runner):
        super().__init__(runner)
        self.corpus = Corpus()

    def make(self, r, folder):
        seed = r.choice(self.corpus.files)
        path = os.path.join(folder, os.path.basename(seed))
        with open(path, 'wb') as f:
            f.write(self.corpus.damage(r, self.corpus.texts[seed]))
        return path

    def judge(self, path, folder, r):
        with open(path, encoding='utf-8', errors='replace') as f:
            text = f.read()
        ws, axes = self.runner.warpsmith, small_axes(text)
        script = 'get_inputs' not in text
        if script:
            ways = [['run', path, '--device', 'cpu', '--backend', r.choice(('eager', 'aot_eager', 'inductor'))],
                    ['explain', path, '--arch', 'cpu']]
        else:
            mode = r.choice(('fwd', 'fwd', 'train', 'bwd'))
            ways = [['explain', path, '--arch', r.choice(('cpu', 'sm_90a', 'sm_80')), '--mode', mode, *axes],
                    ['run', path, '--device', 'cpu', '--check', '--mode', mode, '--dtype', r.choice(('f32', 'f32', 'f64', 'bf16')), *axes]]
        exits = range(256) if 'exit' in text else range(6)
        for way in ways:
            if script and way[0] == 'explain' and r.random() < 0.7:
                continue
            out = self.runner.run([ws, *way], folder)
            found = self.say(way, out, exits)
            # What a program prints is its own business.
            if found and not (script and found[0] == 'a wrong result') and not (out.code == 0 and 'message of' in found[0]):
                return found
            if out.code not in (0, 1):
                break
        return None


class Grammar(Part):
    def make(self, r, folder):
        path = os.path.join(folder, 'program.py')
        seed = r.randrange(1 << 30)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(Programs(seed).program() + '\n' if r.random() < 0.3 else TorchPrograms(seed).program())
        return path

    def parts_of(self, data):
        m = re.search(rb'(.*def f\([^\n]*\n)(.*?)(    return .*)', data, re.S)
        return m.groups() if m else (b'', data, b'')

    def judge(self, path, folder, r):
        with open(path, encoding='utf-8') as f:
            text = f.read()
        outs, ws = [], self.runner.warpsmith
        for backend in ('eager', 'inductor') if 'BACKEND' in text else ('eager',):
            run = os.path.join(folder, 'run.py')
            with open(run, 'w', encoding='utf-8') as f:
                f.write(text.replace('BACKEND', repr(backend)))
            way = ['run', run, '--device', 'cpu']
            out = self.runner.run([ws, *way], folder)
            found = self.say(way, out)
            if found and found[0] != 'a wrong result':
                return found
            outs.append(out)
        if len(outs) == 2 and outs[0].code == outs[1].code == 0:
            why = differs(outs[0].out, outs[1].out, text)
            if why:
                return 'backends differ in ' + why[0], 'warpsmith run --backend eager, inductor', why[1]
        return None


JUMPS = re.compile(r'//|%|[<>=!]=|[<>]|round|floor|ceil|trunc|frac|sign|arg|sort|int\(\)|bool|isnan|all\(|any\(|logical|one_hot|amax|amin|clamp|\*\*|sqrt|log')


def differs(one, two, text):
    """What two backends print of the same program. Where values jump, a few elements may; then most have to agree."""
    a, b = one.splitlines(), two.splitlines()
    if len(a) != len(b):
        return 'what is refused', f'{one[:400]}\nfor\n{two[:400]}'
    rough = 0.1 if 'bfloat16' in text else 1e-3
    for x, y in zip(a, b):
        if x == y:
            continue
        numbers = [re.findall(r'-?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)', t) for t in (x, y)]
        if len(numbers[0]) != len(numbers[1]) or re.sub(r'-?[\d.]+(e[-+]?\d+)?|-?nan|-?inf', '', x) != re.sub(r'-?[\d.]+(e[-+]?\d+)?|-?nan|-?inf', '', y):
            return 'types', f'{x[:300]}\nfor {y[:300]}'
        values = [(float(p), float(q)) for p, q in zip(*numbers)]
        scale = max([abs(p) for p, _ in values if abs(p) < 1e30], default=1) + 1e-3
        wrong = sum(not (p == q or (p != p and q != q) or abs(p - q) <= rough * (abs(p) + scale)) for p, q in values)
        if wrong > (len(values) // 3 if JUMPS.search(text) else 0):
            return 'values', f'{x[:300]}\nfor {y[:300]}'
    return None


class Tables(Part):
    suffix = '.csv'

    def __init__(self, runner):
        super().__init__(runner)
        self.texts = []
        for folder in ('reports/samples/cpu', 'reports/samples/h200'):
            at = os.path.join(ROOT, folder)
            for f in sorted(os.listdir(at)):
                if f.endswith('.csv'):
                    with open(os.path.join(at, f), 'rb') as data:
                        lines = data.read().splitlines(keepends=True)
                    self.texts.append(b''.join(lines[:1] + lines[1:12] + lines[-12:]))

    def make(self, r, folder):
        path = os.path.join(folder, 'damaged.csv')
        text = r.choice(self.texts)
        for _ in range(r.choice((1, 1, 2, 3, 8))):
            text = self.damage(r, text)
        with open(path, 'wb') as f:
            f.write(text)
        return path

    def damage(self, r, text):
        cells = (b'', b'nan', b'inf', b'-1', b'1e999', b'0', b'"', b'""', b'"a\n,b"', b'\x00', b'<script>', b'$(x)', b'9' * 400, b'a' * 70000,
                 b"'", b'-0.0', b'ok', b'wrong', b'true', b'\xff\xfe', b',', b'\\', b'%s%n', b'0x10', b'1e-320', b'2147483648', b'9223372036854775808')
        kind = r.random()
        lines = text.splitlines(keepends=True) or [b'']
        i = r.randrange(len(lines))
        if kind < 0.5:
            row = lines[i].rstrip(b'\n').split(b',')
            row[r.randrange(len(row))] = r.choice(cells)
            lines[i] = b','.join(row) + b'\n'
        elif kind < 0.62:
            row = lines[i].rstrip(b'\n').split(b',')
            a, b = r.randrange(len(row)), r.randrange(len(row))
            r.choice((lambda: row.pop(a), lambda: row.insert(a, row[b]), lambda: row.__setitem__(a, row[b])))()
            lines[i] = b','.join(row) + b'\n'
        elif kind < 0.72:
            r.choice((lambda: lines.pop(i), lambda: lines.insert(i, r.choice(lines)), lambda: lines.insert(i, r.choice(self.texts).splitlines(keepends=True)[0])))()
        elif kind < 0.8:
            return text[:r.randrange(len(text) + 1)]
        elif kind < 0.9 and text:
            data = bytearray(text)
            for _ in range(r.choice((1, 1, 3, 30))):
                data[r.randrange(len(data))] = r.randrange(256)
            return bytes(data)
        elif kind < 0.94:
            return text.replace(b'\n', b'\r\n')
        elif kind < 0.97:
            return text.rstrip(b'\n')
        else:
            lines[i] = lines[i] * 200
        return b''.join(lines)

    def judge(self, path, folder, r):
        ws = self.runner.warpsmith
        other = os.path.join(folder, 'whole.csv')
        with open(other, 'wb') as f:
            f.write(r.choice(self.texts))
        results = os.path.join(folder, 'results')
        os.makedirs(results, exist_ok=True)
        shutil.copy(path, results)
        for way in (['compare', '--base', path, '--new', r.choice((other, path + '@prev'))], ['compare', '--base', other, '--new', path],
                    ['report', '--results', results, '--out', os.path.join(folder, 'index.html')],
                    ['report', '--figure', path, '--out', os.path.join(folder, 'figure')]):
            found = self.say(way, self.runner.run([ws, *way], folder))
            if found and found[0] != 'a wrong result':
                return found
        return None


class Stores(Part):
    suffix, is_text = '.db', False

    def __init__(self, runner):
        super().__init__(runner)
        self.whole, self.lock = None, threading.Lock()

    def store(self):
        """A store with a few tuned kernels, made once."""
        with self.lock:
            if self.whole is None:
                folder = tempfile.mkdtemp(prefix='ws-store')
                for f, axes in (('softmax', ['-D', 'rows=8', '-D', 'dim=32,64']), ('relu', ['-D', 'n=64'])):
                    path = os.path.join(ROOT, f'workloads/{f}.py')
                    out = self.runner.run([self.runner.warpsmith, 'bench', path, '--device', 'cpu', '--budget', '3t', '--samples-max', '3',
                                           '--no-figures', '--results', folder, *axes], folder, cpu=600)
                    if out.code not in (0, 5):
                        raise RuntimeError('no store: ' + out.err[-2000:])
                db = sqlite3.connect(os.path.join(folder, 'store.db'))
                db.execute('PRAGMA journal_mode=DELETE')
                db.close()
                with open(os.path.join(folder, 'store.db'), 'rb') as f:
                    self.whole = f.read()
                shutil.rmtree(folder)
        return self.whole

    def make(self, r, folder):
        path = os.path.join(folder, 'damaged.db')
        data = self.store()
        with open(path, 'wb') as f:
            f.write(data)
        os.chmod(path, 0o600)
        kind = r.random()
        if kind < 0.55:
            self.by_words(r, path)
            return path
        data = bytearray(data)
        if kind < 0.75:
            for _ in range(r.choice((1, 1, 4, 50))):
                data[r.randrange(len(data))] = r.randrange(256)
        elif kind < 0.85:
            data = data[:r.randrange(len(data))]
        elif kind < 0.95:
            page = r.randrange(len(data) // 4096) * 4096
            other = r.randrange(len(data) // 4096) * 4096
            data[page:page + 4096] = r.choice((bytes(4096), bytes(r.randrange(256) for _ in range(4096)), data[other:other + 4096]))
        else:
            data += bytes(r.randrange(256) for _ in range(r.randrange(1, 9000)))
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def by_words(self, r, path):
        """A store that SQLite likes and that makes no sense."""
        db = sqlite3.connect(path)
        tables = [t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")]
        values = (None, '', 'x', -1, 0, 1 << 62, 1e308, float('nan'), b'\x00\xff', 'a' * 100000, 'x=1 r=4096 warps=8', 'x=99999999999', '%s%n', '\x00', '-1:5', 'dim=1:2')
        for _ in range(r.choice((1, 1, 2, 4))):
            table = r.choice(tables)
            columns = [c[1] for c in db.execute(f'PRAGMA table_info({table})')]
            kind = r.random()
            try:
                if kind < 0.6:
                    db.execute(f'UPDATE {table} SET "{r.choice(columns)}" = ? WHERE rowid % ? = 0', (r.choice(values), r.choice((1, 2))))
                elif kind < 0.7:
                    db.execute(f'DELETE FROM {table}' + r.choice(('', ' WHERE rowid % 2 = 0')))
                elif kind < 0.76:
                    db.execute(f'DROP TABLE {table}')
                    tables.remove(table)
                elif kind < 0.84:
                    db.execute(f'ALTER TABLE {table} DROP COLUMN "{r.choice(columns)}"')
                elif kind < 0.9:
                    db.execute(f'ALTER TABLE {table} RENAME COLUMN "{r.choice(columns)}" TO other')
                elif kind < 0.95:
                    db.execute(f'PRAGMA user_version = {r.choice((0, 1, 2, 3, 4, 99, -1))}')
                else:
                    db.execute(f'INSERT INTO {table} SELECT * FROM {table}')
            except (sqlite3.Error, OverflowError):
                pass
            if not tables:
                break
        db.commit()
        db.close()

    def judge(self, path, folder, r):
        ws, store = self.runner.warpsmith, os.path.join(folder, 'store.db')
        soft = os.path.join(ROOT, 'workloads/softmax.py')
        axes = ['-D', 'rows=8', '-D', f'dim={r.choice((32, 48, 64))}', '--device', 'cpu']
        ways = [['cache', 'ls'], ['cache', 'show', r.choice('123')], ['cache', 'rm', r.choice('123')], ['cache', 'rm', '--older-than', '0'],
                ['cache', 'export', os.path.join(folder, 'export.db')], ['cache', 'import', path], ['run', soft, '--check', *axes],
                ['bench', soft, '--no-search', '--no-figures', '--samples-max', '3', '--results', folder, *axes],
                ['bench', soft, '--budget', '2t', '--no-figures', '--samples-max', '3', '--results', folder, *axes]]
        for way in r.sample(ways[:6], 2) + r.sample(ways[6:], 1):
            for extra in ('', '-wal', '-shm'):
                if os.path.exists(store + extra):
                    os.remove(store + extra)
            if way[1] != 'import':
                shutil.copy(path, store)
            found = self.say(way, self.runner.run([ws, *way], folder))
            if found:
                return found
        return None


class Slices(Part):
    """A program that makes its own inputs from a seed: one run of it is one input here."""
    seconds = 20 # about

    def words(self, seed, seconds, options):
        raise NotImplementedError

    def judge_slice(self, seed, seconds, options):
        words = self.words(seed, seconds, options)
        with tempfile.TemporaryDirectory(prefix='ws-fuzz') as folder:
            out = self.runner.run(words, folder, cpu=3600)
        if out.how == 'stopped':
            return 0, None
        n = sum(map(int, re.findall(r'^ *(\d+) (?:graphs|calls)\b', out.out, re.M)))
        found = out.finding(range(2))
        if out.code == 1 and not found:
            found = (type(self).__name__.lower(), out.out[-3000:])
        return n, found and (found[0], ' '.join(words).replace(self.runner.build + '/', ''), found[1])


class Natives(Slices):
    def words(self, seed, seconds, options):
        return [os.path.join(self.runner.build, 'tests/unit/test_capture_natives'), str(seed)]


class Graphs(Slices):
    """graph_fuzz shrinks and writes by itself."""

    def words(self, seed, seconds, options):
        words = [os.path.join(self.runner.build, 'tests/fuzz/graph_fuzz'), '--seconds', str(int(seconds)), '--seed', str(seed), '--found',
                 options.found or os.path.join(ROOT, 'tests/fuzz/found')]
        if options.counts:
            words += ['--counts', options.counts]
        return words


# ---- smaller ---------------------------------------------------------------------------------------------------------

def shrink(pieces, fails, end):
    """Fewer pieces that still fail."""
    size = max(len(pieces) // 2, 1)
    while time.time() < end:
        i, gone = 0, False
        while i < len(pieces) and time.time() < end:
            fewer = pieces[:i] + pieces[i + size:]
            if fewer and fails(fewer):
                pieces, gone = fewer, True
            else:
                i += size
        if size == 1 and not gone:
            break
        size = max(size // 2, 1)
    return pieces


class Fuzzer:
    def __init__(self, options):
        self.o = options
        self.runner = Runner(options.build)
        names = {'graphs': Graphs, 'natives': Natives, 'workloads': Workloads, 'programs': Grammar, 'tables': Tables, 'stores': Stores}
        self.parts = {p: names[p](self.runner) for p in options.parts}
        self.spent, self.count = collections.Counter(), collections.Counter()
        self.next = collections.Counter()
        self.findings = {}
        self.lock = threading.Lock()
        self.end = time.time() + options.seconds

    def one(self, part, seed, keep=None):
        """The finding of one input; keep: a file whose content it is instead."""
        r = random.Random(f'{part} {seed}')
        with tempfile.TemporaryDirectory(prefix='ws-fuzz') as folder:
            path = self.parts[part].make(r, folder)
            if keep is not None:
                with open(path, 'wb') as f:
                    f.write(keep)
            state = r.getstate()
            found = self.parts[part].judge(path, folder, r)
            if not found or 'stopped' in found[0]:
                return None, None, None
            with open(path, 'rb') as f:
                return found, f.read(), state

    def smaller(self, part, found, data):
        """The input with less in it that fails alike."""
        suffix = self.parts[part].suffix
        end = time.time() + SHRINK_SECONDS

        def fails(pieces, state=None):
            r = random.Random(0)
            r.setstate(state or found[3])
            with tempfile.TemporaryDirectory(prefix='ws-fuzz') as folder:
                path = os.path.join(folder, 'small' + suffix)
                with open(path, 'wb') as f:
                    f.write(head + b''.join(pieces) + tail)
                got = self.parts[part].judge(path, folder, r)
                return bool(got) and got[0] == found[0]

        head, data, tail = self.parts[part].parts_of(data)
        pieces = data.splitlines(keepends=True)
        if fails(pieces):
            pieces = shrink(pieces, fails, end)
            tokens = re.findall(rb'\w+|\s+|.', b''.join(pieces), re.S)
            if len(tokens) < 400:
                pieces = shrink(tokens, fails, end)
        return head + b''.join(pieces) + tail

    def report(self, part, seed, found, data):
        with self.lock:
            known = self.findings.setdefault((part, found[0]), [])
            known.append(seed)
            if len(known) > 1:
                return
        if data is not None and self.parts[part].is_text and not self.runner.stopped.is_set():
            data = self.smaller(part, found, data)
        path = 'the same seed again'
        if data is not None:
            name = re.sub(r'\W+', '-', found[0])[:60].strip('-')
            folder = self.o.found or os.path.join(ROOT, 'tests/fuzz/inputs')
            path = os.path.join(folder, f'{part}-{seed}-{name}{self.parts[part].suffix}')
            os.makedirs(folder, exist_ok=True)
            with open(path, 'wb') as f:
                f.write(data)
        with self.lock:
            print(f'{part}:{seed}: {found[0]}\n  {found[1]}\n  -> {path}')
            text = data.decode('utf-8', 'backslashreplace') if data and self.parts[part].is_text else ''
            for line in (text + '\n' + found[2]).strip().splitlines()[:60]:
                print('    ' + line[:200])
            sys.stdout.flush()

    def work(self):
        while time.time() < self.end:
            with self.lock:
                part = min(self.parts, key=lambda p: self.spent[p])
                # What it will take, about, so that all workers do not choose the same.
                self.spent[part] += 1
                seed = self.o.seed * 1000000 + self.next[part]
                self.next[part] += 1
            start = time.time()
            data = None
            if isinstance(self.parts[part], Slices):
                n, found = self.parts[part].judge_slice(seed, max(1, min(Slices.seconds, self.end - start)), self.o)
            else:
                n = 1
                found, data, state = self.one(part, seed)
                if found:
                    found = (*found, state)
            with self.lock:
                self.spent[part] += time.time() - start - 1
                self.count[part] += n
            if found:
                self.report(part, seed, found, data)

    def replay(self, paths):
        """How many of these files are fine, and how many are not."""
        passed = failed = 0
        for path in paths:
            part = part_of(path)
            for seed in range(3) if part else ():
                with open(path, 'rb') as data:
                    found = self.one(part, seed, data.read())[0]
                if found:
                    print(f'{path}: {found[0]}\n  {found[1]}\n    ' + '\n    '.join(found[2].splitlines()[:20]))
                    failed += 1
                    break
            else:
                passed += 1
        return passed, failed

    def run(self):
        errors = []
        inputs = os.path.join(ROOT, 'tests/fuzz/inputs')
        found_before = [os.path.join(inputs, f) for f in sorted(os.listdir(inputs))] if os.path.isdir(inputs) else []
        bad = self.replay(f for f in found_before if part_of(f) in self.parts)[1]

        def worker():
            try:
                self.work()
            except Exception as e:  # pylint: disable=broad-except
                errors.append(e)
                self.end = 0

        threads = [threading.Thread(target=worker) for _ in range(self.o.jobs)]
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            for t in threads:
                t.join(1)
            if time.time() > self.end + 5 and not self.findings:
                self.runner.stopped.set()
        if errors:
            raise errors[0]
        for part in self.parts:
            print(f'{self.count[part]:8d} {part} in {self.spent[part]:.0f} s')
        for (part, what), seeds in self.findings.items():
            print(f'found {len(seeds)} times: {part}: {what} (seeds {", ".join(map(str, seeds[:5]))})')
        if self.o.counts:
            self.add_counts()
        return 1 if self.findings or bad else 0

    def add_counts(self):
        path, sums = self.o.counts + '.files', collections.Counter()
        if os.path.exists(path):
            with open(path, encoding='utf-8') as f:
                sums.update({name: int(n) for name, n in (line.split() for line in f)})
        sums.update({p: n for p, n in self.count.items() if p != 'graphs'})
        sums['findings'] += len(self.findings)
        sums['seconds'] += int(sum(self.spent.values()))
        with open(path, 'w', encoding='utf-8') as f:
            f.writelines(f'{name} {n}\n' for name, n in sorted(sums.items()))


def part_of(path):
    """Whose input is it? By its name, or its suffix."""
    name = os.path.basename(path).split('-')[0]
    by_suffix = {'.py': 'workloads', '.csv': 'tables', '.db': 'stores'}
    return name if name in PARTS else by_suffix.get(os.path.splitext(path)[1])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('build')
    p.add_argument('--seconds', type=float, default=600)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--parts', default=','.join(PARTS), type=lambda s: s.replace(' ', ',').split(','))
    p.add_argument('--found')
    p.add_argument('--counts')
    p.add_argument('--replay')
    p.add_argument('--inputs', nargs='+')
    o = p.parse_args()
    if not set(o.parts) <= set(PARTS):
        p.error('parts are ' + ', '.join(PARTS))
    f = Fuzzer(o)
    if o.replay:
        part, seed = o.replay.split(':')
        if isinstance(f.parts[part], Slices):
            found, data = f.parts[part].judge_slice(int(seed), Slices.seconds, o)[1], None
        else:
            found, data, state = f.one(part, int(seed))
            found = found and (*found, state)
        if found:
            f.report(part, int(seed), found, data)
        return 1 if found else 0
    if o.inputs:
        passed, failed = f.replay(o.inputs)
        print(f'{passed} passed, {failed} failed')
        return 1 if failed else 0
    return f.run()


if __name__ == '__main__':
    sys.exit(main())
