#!/usr/bin/env python3
"""mutate.py: how many small mistakes in the sources the tests catch.

    scripts/mutate.py [--n 60] [--seed 1] [--jobs J] [--seconds S] [--only PATH] [--csv FILE] [--fresh]
    scripts/mutate.py --table [--csv FILE]        the rows as a table, and those that nothing caught
    scripts/mutate.py --probe                     only look which test reaches what

A mutant is a copy of one source file of compiler/, tuner/ or reports/ in which one token, or the statement, condition
or call that begins there, is another one:

    if (a < b)   ->   if (a <= b)                 clear(&x);   ->   ;

Which token is chosen by --seed, all tokens alike, but none in comments, strings, preprocessor lines, assertions and
messages, and none of these, which change nothing that a program leaves or says, wherever it runs:

    fflush(stdout);                              when a line is seen; exit flushes it. And hints to the kernel or the
    posix_fadvise(file, 0, 0, ...);              processor about what will be read: madvise, __builtin_prefetch
    strcmp(a, b) == 0  ->  strcmp(b, a) == 0     a function whose arguments may change places; fmin and fmax, too
    n ? 2 * n : 8  ->  n ? 2 * n : 9             other room at first in an array that grows by doubling; but not none
    char text[64]  ->  char text[65]             the declared size of an array

Mutants that do not compile (a warning is an error here, too) and those whose object code is the same as the
original's are left out and another one is drawn.

Which tests can tell is looked up: every test runs once with a probe in each block of the sources, and a mutant is shown
only to tests that reach its block. They go by what they promise, chance to catch over CPU seconds, and the first that
fails ends it. A test that takes ten times as long as it does without the mutant has caught it, too. Mutants that have
outlived some tests are shown to the rest together, one of each file, as if they were one: what passes has caught none
of them, and what fails is shown to halves of them.

A mutant changes nothing in the tree or the build folder: its object is linked before the archives, one test at a time, and all
of it lies in BUILD/mutate, with a copy of the tree as it was at the beginning. Rows of a run that was broken off are kept, and it goes on from there; a mutant that
not all tests that reach it have seen by then is `open`, which counts as not caught.

Exit status: 0 at least --least percent (0) are caught, 1 fewer, 2 a wrong call, 3 the tests do not run here."""
import argparse
import collections
import csv
import datetime
import hashlib
import json
import os
import platform
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

FOLDERS = ('compiler', 'tuner', 'reports')
FIELDS = ('seed', 'candidate', 'file', 'line', 'kind', 'before', 'after', 'status', 'by', 'how', 'reaching', 'tests',
          'cpu_s', 'note', 'device', 'date')
DEVICE = '%s, %d cores' % (platform.machine(), os.cpu_count())
DEAR = 15  # CPU seconds, after which a mutant waits until all others have had as many, and goes on among others
CROWD = 8  # mutants that are one at most

# ---- C, as far as it takes -----------------------------------------------------------------------------------------

TOKEN = re.compile(r'''
    (?P<space>[ \t\r\n\f]+|\\\n)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<pp>\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<string>(?:u8|[LuU])?"(?:\\.|[^"\\])*"|[LuU]?'(?:\\.|[^'\\])*')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
''', re.X | re.S)
CONTROL = {'if', 'for', 'while', 'switch'}
NOT_CALLS = CONTROL | {'return', 'sizeof', 'do', 'else', 'case', 'goto', 'typedef', 'struct', 'enum', 'union', 'static'}
ASSERTS = re.compile(r'WS_ASSERT|WS_BUG|assert|_?[Ss]tatic_assert')
MESSAGES = re.compile(r'diag_\w+|syntax_error|format_error|warn|perror|usage')
HINTS = re.compile(r'posix_fadvise|madvise|posix_madvise|readahead|__builtin_prefetch')
EQUALS = re.compile(r'strn?cmp|strn?casecmp|memcmp')  # those of which only == 0 is asked
ALIKE = re.compile(r'f(min|max)f?|hypotf?')
SWAPS = {'<': '<= >=', '<=': '< >', '>': '>= <=', '>=': '> <', '==': '!=', '!=': '==', '+': '-', '-': '+', '*': '+',
         '/': '*', '%': '/', '&&': '||', '||': '&&', '&': '|', '|': '&', '^': '|', '<<': '>>', '>>': '<<', '++': '--',
         '--': '++', '+=': '-=', '-=': '+=', '*=': '+=', '|=': '&=', '&=': '|='}


class Source:
    """The tokens of a file, the block that each lies in, and where probes go."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.tokens = [(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(text)]
        self.tokens = [t for t in self.tokens if t[0] not in ('space', 'comment', 'pp')]
        self.kind = [t[0] for t in self.tokens]
        self.word = [t[1] for t in self.tokens]
        self.at = [t[2] for t in self.tokens]
        self.pair = self.pairs()
        self.inserts = []                        # (offset, text with %d for the probe's number)
        self.block = [-1] * len(self.tokens)     # of each token: its probe; -1: outside of functions
        self.n_blocks = 0
        self.quiet = [False] * len(self.tokens)  # in an assertion or a message
        self.find_quiet()
        self.find_blocks()

    def hash(self):
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def pairs(self):
        pair, stack = {}, []
        self.inner = []                          # the innermost bracket that is open at each token
        for i, w in enumerate(self.word):
            self.inner.append(self.word[stack[-1]] if stack else '')
            if self.kind[i] != 'mark':
                continue
            if w in '([{':
                stack.append(i)
            elif w in ')]}' and stack:
                j = stack.pop()
                pair[i], pair[j] = j, i
        return pair

    def find_quiet(self):
        for i, w in enumerate(self.word[:-1]):
            if self.kind[i] != 'name' or self.word[i + 1] != '(' or i + 1 not in self.pair:
                continue
            asserts = ASSERTS.fullmatch(w)
            if HINTS.fullmatch(w) or (w == 'fflush' and self.word[i + 2] in ('stdout', 'stderr')):
                for j in range(i, self.pair[i + 1] + 1):
                    self.quiet[j] = True
            if asserts or MESSAGES.fullmatch(w):
                for j in range(i + 1 if not asserts else i, self.pair[i + 1] + 1):
                    self.quiet[j] = True
                # if (...) WS_BUG(...): the condition is an assertion.
                if asserts and self.word[i - 1] == ')' and self.word[self.pair[i - 1] - 1] == 'if':
                    for j in range(self.pair[i - 1] - 1, i):
                        self.quiet[j] = True

    def statement_end(self, i):
        """The token after the simple statement that begins at i."""
        while i < len(self.word):
            if self.word[i] == ';':
                return i + 1
            if self.word[i] in ('(', '[', '{') and i in self.pair:
                i = self.pair[i]
            elif self.word[i] == '}':
                return None
            i += 1
        return None

    def probe(self, offset, before='', after=None):
        number = self.n_blocks
        self.n_blocks += 1
        self.inserts.append((offset, before + 'ws_probe(%d);' % number))
        if after is not None:
            self.inserts.append((after, '}'))
        return number

    def find_blocks(self):
        stack, bodies = [('file', -1)], []       # (kind, probe); bodies: (end, probe) of statements without braces
        for i, w in enumerate(self.word):
            while bodies and i >= bodies[-1][0]:
                bodies.pop()
            kind, number = stack[-1]
            self.block[i] = bodies[-1][1] if bodies else number
            if self.kind[i] == 'mark' and w == '{':
                new = self.brace(i, kind)
                if new == 'code':
                    number = self.probe(self.at[i] + 1)
                stack.append((new, number))
            elif self.kind[i] == 'mark' and w == '}' and len(stack) > 1:
                stack.pop()
            elif w == ':' and kind == 'switch' and self.is_label(i) and self.word[i + 1] not in ('}', 'case', 'default'):
                stack[-1] = ('switch', self.probe(self.at[i] + 1))
            elif kind in ('code', 'switch'):
                body = self.bare_body(i)
                end = self.statement_end(body) if body else None
                if end:
                    bodies.append((end, self.probe(self.at[body], '{', self.at[end - 1] + 1)))

    def brace(self, i, outer):
        before = self.word[i - 1] if i else ''
        if before == ')' and i - 1 in self.pair:
            head = self.word[self.pair[i - 1] - 1]
            if head == 'switch':
                return 'switch'
            named = self.kind[self.pair[i - 1] - 1] == 'name' and (head in CONTROL or head not in NOT_CALLS)
            return 'code' if named and (outer != 'other') else 'other'
        if outer in ('code', 'switch') and before in ('else', 'do', ';', '{', '}', ':'):
            return 'code'
        return 'other'

    def is_label(self, i):
        j = i - 1
        while j > 0 and self.word[j] not in ('case', 'default', ';', '{', '}', '?', ':'):
            j -= 1
        return self.word[j] in ('case', 'default')

    def bare_body(self, i):
        """The first token of a statement without braces that hangs on a head which ends at i."""
        w = self.word[i]
        hangs = w == 'else' or (w == ')' and i in self.pair and self.word[self.pair[i] - 1] in ('if', 'for', 'while'))
        if not hangs or i + 1 >= len(self.word):
            return None
        if self.word[i + 1] in ('{', ';', 'if', 'for', 'while', 'do', 'switch', '}'):
            return None
        return i + 1

    def probed(self):
        head = ('#include <stddef.h>\nunsigned char *ws_probe_file(const char *, unsigned);\nstatic unsigned char *ws_probes;\n'
                'static inline void ws_probe(unsigned i) {\n'
                '    if (!ws_probes) ws_probes = ws_probe_file("%s", %d);\n    ws_probes[i] = 1;\n}\n'
                'static void *ws_probe_used[] __attribute__((used)) = {(void *)ws_probe};\n'
                '#line 1 "%s"\n' % (self.path, max(self.n_blocks, 1), self.path))
        text, last = [], 0
        for offset, what in sorted(enumerate(self.inserts), key=lambda x: (x[1][0], x[0])):
            text.append(self.text[last:what[0]] + what[1])
            last = what[0]
        return head + ''.join(text) + self.text[last:]

    # ---- mutants: for each token what else could stand there, as (kind, [(from, to, text)]) --------------------------

    def line_of(self, i):
        return self.text.count('\n', 0, self.at[i]) + 1

    def span(self, i, j, text):
        """An edit of the tokens i to j that keeps the number of lines."""
        a, b = self.at[i], self.at[j] + len(self.word[j])
        return (a, b, text + '\n' * self.text.count('\n', a, b))

    def is_binary(self, i):
        before = self.kind[i - 1] in ('number', 'string') or self.word[i - 1] in (')', ']')
        return before or (self.kind[i - 1] == 'name' and self.word[i - 1] not in ('return', 'case', 'sizeof', 'else'))

    def is_declared_size(self, i):
        """char text[64]: most such mutants do nothing."""
        j = i - 3
        while self.word[j] == ',' and self.word[j - 1] == ']' and j - 1 in self.pair:  # char text[64], more[64]
            j = self.pair[j - 1] - 2
        return self.word[i - 1] == '[' and self.word[i + 1] == ']' and self.kind[i - 2] == 'name' and \
            (self.kind[j] == 'name' or self.word[j] == '*') and self.word[j] not in ('return', 'case')

    def starts_statement(self, i):
        if self.inner[i] != '{':
            return False
        if self.word[i - 1] in (';', '{', '}', 'else', ':'):
            return True
        return self.word[i - 1] == ')' and i - 1 in self.pair and self.word[self.pair[i - 1] - 1] in CONTROL

    def arguments(self, i):
        """The first and last tokens of the arguments of the call whose parenthesis is i."""
        spans, start, j = [], i + 1, i + 1
        while j < self.pair[i]:
            if self.word[j] in ('(', '[', '{') and j in self.pair:
                j = self.pair[j]
            elif self.word[j] == ',':
                spans.append((start, j - 1))
                start = j + 1
            j += 1
        spans.append((start, self.pair[i] - 1))
        return spans

    def may_change_places(self, i):
        """The first two arguments of the call that begins at i."""
        after = self.word[self.pair[i + 1] + 1:self.pair[i + 1] + 3]
        asked = self.word[i - 1] == '!' or after in (['==', '0'], ['!=', '0'])
        return ALIKE.fullmatch(self.word[i]) or (EQUALS.fullmatch(self.word[i]) and asked)

    def is_first_room(self, i):
        """n ? 2 * n : 8, where i is the 8."""
        j = i - 1
        while j > 0 and self.word[j] not in ('?', ';', '{', '}'):
            j -= 1
        doubled = self.word[j + 3:i - 1]
        return self.word[i - 1] == ':' and self.word[j:j + 3] == ['?', '2', '*'] and self.word[i] != '0' and \
            len(doubled) > 0 and self.word[j - len(doubled):j] == doubled

    def number(self, i):
        w = self.word[i]
        m = re.fullmatch(r'(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)', w)
        if m:
            value = int(m.group(1), 16 if m.group(1)[:2].lower() == '0x' else 8 if re.match('0[0-7]', w) else 10)
            return ['%d%s' % (value + 1, m.group(2)), '%d%s' % (value - 1, m.group(2)) if value else '(-1)']
        m = re.fullmatch(r'([0-9.]+(?:[eE][-+]?[0-9]+)?)([fFlL]?)', w)
        if m:
            value = float(m.group(1))
            return [repr(value + 1) + m.group(2), repr(value - 1 if value >= 1 else value / 2) + m.group(2)]
        return []

    def choices(self, i):
        if self.quiet[i] or i + 2 >= len(self.word) or i < 3:
            return []
        kind, w, inside = self.kind[i], self.word[i], self.block[i] >= 0
        out = []
        if kind == 'number' and not self.is_declared_size(i):
            numbers = self.number(i)
            if self.is_first_room(i):
                numbers = numbers[1:] if w == '1' else []
            out += [('constant', [self.span(i, i, t)]) for t in numbers]
        elif kind == 'mark' and w in SWAPS and (w in ('++', '--') or self.is_binary(i)) and inside:
            out += [('operator', [self.span(i, i, t)]) for t in SWAPS[w].split()]
        elif kind == 'mark' and w == '!' and inside:
            out.append(('operator', [self.span(i, i, '')]))
        elif kind == 'mark' and w == '?' and inside:
            j = i - 1                            # back to where the condition begins, as far as it is in parentheses
            if self.word[j] == ')' and j in self.pair and self.kind[self.pair[j] - 1] != 'name':
                out.append(('condition', [self.span(self.pair[j], self.pair[j], '(!(')] + [self.span(j, j, '))')]))
        elif w in ('true', 'false') and inside:
            out.append(('constant', [self.span(i, i, 'false' if w == 'true' else 'true')]))
        elif w in ('if', 'while') and self.word[i + 1] == '(' and i + 1 in self.pair:
            j = self.pair[i + 1]
            out.append(('condition', [self.span(i + 1, i + 1, '(!('), self.span(j, j, '))')]))
        elif w in ('break', 'continue'):
            out.append(('jump', [self.span(i, i, 'continue' if w == 'break' else 'break')]))
        elif w == 'return' and self.word[i + 1] != ';' and not MESSAGES.fullmatch(self.word[i + 1]):
            end = self.statement_end(i)
            if end:
                out += [('return', [self.span(i + 1, end - 2, t)]) for t in ('0', '1') if self.word[i + 1:end - 1] != [t]]
        elif kind == 'name' and inside:
            if self.word[i + 1] == '(' and w not in NOT_CALLS and i + 1 in self.pair:
                args = self.arguments(i + 1)
                for (a, b), (c, d) in list(zip(args, args[1:]))[1 if self.may_change_places(i) else 0:]:
                    first = self.text[self.at[a]:self.at[b] + len(self.word[b])]
                    second = self.text[self.at[c]:self.at[d] + len(self.word[d])]
                    if first != second and '\n' not in first + second:
                        out.append(('arguments', [self.span(a, b, second), self.span(c, d, first)]))
            if self.starts_statement(i) and w not in NOT_CALLS and not MESSAGES.fullmatch(w) and \
                    not (self.kind[i + 1] == 'name' or self.word[i + 1] == '*' or self.word[i + 1] == ':') and \
                    w not in ('break', 'continue', 'default', 'return', 'goto'):
                end = self.statement_end(i)
                if end and w not in ('int', 'bool', 'double', 'char', 'const', 'float', 'void'):
                    out.append(('statement', [self.span(i, end - 2, '')]))
        return out

    def edited(self, edits):
        text = self.text
        for a, b, new in sorted(edits, reverse=True):
            text = text[:a] + new + text[b:]
        return text


def all_sources(only):
    paths = []
    for folder in FOLDERS:
        for where, _, files in os.walk(folder):
            paths += [os.path.join(where, f) for f in files if f.endswith('.c')]
    return {p: Source(p, open(p, encoding='utf-8').read()) for p in sorted(paths) if p.startswith(only)}


def candidates(sources, seed):
    """Mutants without an end, the same for the same seed and sources: (file, token, kind, edits)."""
    places = [(p, i) for p, s in sorted(sources.items()) for i in range(len(s.tokens)) if s.choices(i)]
    rng = random.Random(seed)
    rng.shuffle(places)
    for path, i in places:
        kind, edits = rng.choice(sources[path].choices(i))
        yield path, i, kind, edits


# ---- the build -------------------------------------------------------------------------------------------------------

PROBES = r'''
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
unsigned char *ws_probe_file(const char *name, unsigned n) {
    const char *folder = getenv("WS_PROBES");
    char path[4096];
    void *p = MAP_FAILED;
    if (folder) {
        int at = snprintf(path, sizeof path, "%s/", folder);
        for (; *name && at < 4000; name++) path[at++] = *name == '/' ? '+' : *name;
        path[at] = 0;
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd >= 0 && ftruncate(fd, n) == 0)
            p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd >= 0) close(fd);
    }
    if (p == MAP_FAILED) p = malloc(n);
    if (!p) abort();
    return p;
}
'''


class Build:
    """The commands that make would run, taken apart."""

    def __init__(self, build):
        self.build = build
        said = subprocess.run([os.environ.get('MAKE', 'make'), '-n', '-B', 'V=1', 'everything'], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        self.compiles, self.links, self.archives = {}, {}, {}
        for line in said.stdout.splitlines():
            try:
                words = shlex.split(line)
            except ValueError:
                continue
            if '-c' in words and '-o' in words:
                self.compiles[words[words.index('-c') + 1]] = words
            elif '-o' in words and '-c' not in words:
                self.links[words[words.index('-o') + 1]] = words
            elif words[:2] == ['ar', 'rcs']:
                self.archives[words[2]] = words[3:]
        if not self.links:
            sys.exit('mutate: make -n everything says nothing:\n' + said.stderr[-2000:])

    def compile(self, path, text_file, out, fast=False):
        """The command that makes `out` of a changed copy of a source. No debug information: objects are compared."""
        words = [w for w in self.compiles[path] if w not in ('-MMD', '-MP')]
        words[words.index('-c') + 1] = text_file
        words[words.index('-o') + 1] = out
        words[words.index('-c'):words.index('-c')] = ['-g0', '-iquote', os.path.dirname(path)] + (['-O1', '-w'] if fast else [])
        return words

    def link(self, binary, out, first, swap=lambda word: word):
        words = [swap(w) for w in self.links[binary]]
        at = words.index('-o')
        words[at + 1] = out
        # The first object stands before the archives, so that the original is not taken from its own.
        words[at + 2:at + 2] = ['-Wl,--strip-debug', *first]
        return words


def run_quietly(words):
    p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', check=False)
    return p.returncode == 0, p.stdout


# ---- tests -----------------------------------------------------------------------------------------------------------

class Test:
    def __init__(self, name, path, needs):
        self.name, self.path, self.needs = name, path, needs  # needs: binaries that have to be linked
        self.cpu = self.wall = None
        self.reach = {}
        self.kills = self.runs = 0
        self.sound, self.lock = None, threading.Lock()

    def layer(self):
        m = re.match(r'tests/unit/test_([a-z]+)', self.name)
        return m.group(1) if m else None


def all_tests(build):
    tests = []
    for binary in sorted(build.links):
        name = os.path.relpath(binary, build.build)
        if re.fullmatch(r'tests/(unit|fuzz)/test_[^/.]*', name):
            tests.append(Test(name, binary, [binary]))
    for f in sorted(os.listdir('tests/run')):
        path = 'tests/run/' + f
        if f.endswith('.sh'):
            text = open(path, encoding='utf-8').read()
            needs = [os.path.join(build.build, 'warpsmith')]
            needs += [b for b in build.links if '$BUILD/' + os.path.relpath(b, build.build) in text]
            tests.append(Test(path, path, needs))
    return tests


class Limits:
    memory = 16 << 30  # of addresses: the emulator has rows for all pairs of threads, of which few are touched
    file = 1 << 30

    def __init__(self, cpu, wall):
        self.cpu, self.wall = cpu, wall


def run_test(test, build_dir, limits, cancelled, extra=None, keep=None):
    """(passed, how, CPU seconds, wall seconds) of one run with the binaries of build_dir."""
    tmp = tempfile.mkdtemp(prefix='t', dir=os.path.realpath(build_dir))
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'WS_LOGS')}
    env.update(BUILD=os.path.realpath(build_dir), TMP=tmp, TMPDIR=tmp, WARPSMITH_CACHE=tmp + '/store.db',
               WARPSMITH=os.path.realpath(os.path.join(build_dir, 'warpsmith')), WARPSMITH_CPU_CACHE='4M',
               CMOCKA_MESSAGE_OUTPUT='stdout', OMP_WAIT_POLICY='passive', OMP_NUM_THREADS='2', TEST_STOP='1',
               **(extra or {}))
    path = test.path if test.path.endswith('.sh') else os.path.join(build_dir, test.name)
    words = ['bash', path] if path.endswith('.sh') else [os.path.realpath(path)]

    # Not in preexec_fn: threads do not get along with what Python would run between fork and exec.
    words = ['prlimit', '--cpu=%d:%d' % (limits.cpu + 1, limits.cpu + 6), '--as=%d' % Limits.memory,
             '--fsize=%d' % Limits.file, '--core=0', *words]
    log_path = os.path.join(tmp, 'log')
    start, how = time.time(), ''
    with open(log_path, 'wb') as log:
        p = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        before = None
        while True:
            done, status, used = os.wait4(p.pid, os.WNOHANG)
            if done:
                break
            if time.time() - start > limits.wall:
                how = 'hangs'
            if cancelled.is_set():
                how = 'cancelled'
            if how:
                kill_group(p.pid)
                _, status, used = os.wait4(p.pid, 0)
                break
            before = min(0.05, 0.002 if before is None else before * 1.3)
            time.sleep(before)
        p.returncode = status
        kill_group(p.pid)
    code = os.waitstatus_to_exitcode(status)
    if not how and code not in (0, 77):
        how = first_failure(log_path) or ('signal %d' % -code if code < 0 else 'exit status %d' % code)
        if keep:
            shutil.copy(log_path, keep + '.' + os.path.basename(test.name))
    shutil.rmtree(tmp, ignore_errors=True)
    return not how, how, used.ru_utime + used.ru_stime, time.time() - start


def kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def first_failure(path):
    with open(path, errors='replace') as f:
        m = re.search(r'^\[  FAILED  \] (?!\d+ test)(\S+)', f.read(1 << 20), re.M)
    return m.group(1) if m else ''


# ---- which test reaches what -----------------------------------------------------------------------------------------

def file_hash(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()[:16]


def in_parallel(jobs, work, items):
    """work(item) for each, `jobs` at once."""
    items, lock, failed = collections.deque(items), threading.Lock(), []

    def worker():
        while not failed:
            with lock:
                if not items:
                    return
                item = items.popleft()
            try:
                work(item)
            except Exception as e:  # pylint: disable=broad-except
                failed.append(e)

    threads = [threading.Thread(target=worker) for _ in range(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


def build_probed(build, sources, folder, jobs):
    os.makedirs(folder, exist_ok=True)
    with open(folder + '/probe.c', 'w', encoding='utf-8') as f:
        f.write(PROBES)
    ok, said = run_quietly(['cc', '-O1', '-c', folder + '/probe.c', '-o', folder + '/probe.o'])
    if not ok:
        sys.exit('mutate: ' + said)

    headers = hashlib.sha256()               # and whatever else objects are made of
    for top in FOLDERS:
        for where, folders, files in os.walk(top):
            folders.sort()
            for name in sorted(files):
                if not name.endswith('.c'):
                    headers.update(file_hash(os.path.join(where, name)).encode())

    def one(path):
        text = folder + '/' + path
        out = text[:-2] + '.o'
        body = sources[path].probed()
        stamp = hashlib.sha256((body + ' '.join(build.compiles[path])).encode() + headers.digest()).hexdigest()
        os.makedirs(os.path.dirname(text), exist_ok=True)
        if os.path.exists(out + '.stamp') and open(out + '.stamp', encoding='utf-8').read() == stamp:
            return
        with open(text, 'w', encoding='utf-8') as f:
            f.write(body)
        good, output = run_quietly(build.compile(path, text, out, fast=True))
        if not good:
            raise RuntimeError('probes in %s do not compile:\n%s' % (path, output[:2000]))
        with open(out + '.stamp', 'w', encoding='utf-8') as f:
            f.write(stamp)

    in_parallel(jobs, one, [p for p in sources if p in build.compiles])
    for archive, objects in build.archives.items():
        mine = [folder + '/' + os.path.relpath(o, build.build) for o in objects]
        if all(os.path.exists(o) for o in mine):
            new = folder + '/' + os.path.relpath(archive, build.build)
            if os.path.exists(new):
                os.remove(new)
            run_quietly(['ar', 'rcs', new, *mine])


def look_at_tests(build, sources, tests, options):
    """What each test costs and reaches, from BUILD/mutate/reach.json or by running it with probes."""
    path, folder = options.folder + '/reach.json', options.folder + '/probe'
    known = {'files': {}, 'tests': {}}
    if os.path.exists(path) and not options.fresh:
        with open(path, encoding='utf-8') as f:
            known = json.load(f)
    def is_known(t):
        k = known['tests'].get(t.name)
        return k and k['ok'] and k['hash'] == test_hash(t)

    wanted = [t for t in tests if not is_known(t)] if not options.known else []
    if wanted:
        print('mutate: %d tests run with probes' % len(wanted), flush=True)
        build_probed(build, sources, folder, options.jobs)
        lock = threading.Lock()

        def swap(word):
            if word.endswith(('.a', '.o')) and word.startswith(build.build + '/'):
                other = folder + '/' + os.path.relpath(word, build.build)
                return other if os.path.exists(other) else word
            return word

        def one(test):
            reached = tempfile.mkdtemp(prefix='r', dir=folder)
            for binary in test.needs:
                out = folder + '/' + os.path.relpath(binary, build.build)
                with lock:
                    if os.path.exists(out) and os.path.getmtime(out) > begin:
                        continue
                    os.makedirs(os.path.dirname(out), exist_ok=True)
                    good, said = run_quietly(build.link(binary, out, [folder + '/probe.o'], swap))
                if not good:
                    raise RuntimeError('%s does not link:\n%s' % (binary, said[:2000]))
            ok, how, cpu, wall = run_test(test, folder, Limits(3600, 3600), threading.Event(),
                                          {'WS_PROBES': os.path.realpath(reached)}, folder + '/log')
            blocks = {}
            for f in os.listdir(reached):
                with open(reached + '/' + f, 'rb') as data:
                    blocks[f.replace('+', '/')] = data.read().hex()
            shutil.rmtree(reached)
            with lock:
                known['tests'][test.name] = {'hash': test_hash(test), 'ok': ok, 'cpu': round(cpu, 3),
                                             'wall': round(wall, 3), 'blocks': blocks,
                                             'files': {p: sources[p].hash() for p in blocks if p in sources}}
                print('  %-44s %7.2f s  reaches %d files%s' % (test.name, cpu, len(blocks), '' if ok else '  FAILS: ' + how),
                      flush=True)
                with open(path + '.new', 'w', encoding='utf-8') as f:
                    json.dump(known, f)
                os.replace(path + '.new', path)

        begin = time.time()
        in_parallel(options.jobs, one, sorted(wanted, key=lambda t: -known['tests'].get(t.name, {}).get('cpu', 1)))
    usable = []
    for t in tests:
        k = known['tests'].get(t.name)
        if not k:                                # and it is not to be looked at: it may reach all of its layer
            t.cpu, t.wall, t.reach = 5, 15, None
            usable.append(t)
            continue
        if not k['ok']:
            print('mutate: %s does not pass here: left out' % t.name)
            continue
        t.cpu, t.wall, t.reach = k['cpu'], k['wall'], {}
        for p, data in k['blocks'].items():
            # Of a file that has changed since, blocks have other numbers: reached is what was reached anywhere.
            same = p in sources and k['files'].get(p) == sources[p].hash()
            t.reach[p] = bytes.fromhex(data) if same else None
        usable.append(t)
    return usable


def test_hash(test):
    source = test.name if test.name.endswith('.sh') else test.name + '.c'
    return file_hash(source)


def reaches(test, path, block):
    if test.reach is None:
        return test.layer() in (None, *path.split('/')[:2])
    if path not in test.reach:
        return False
    blocks = test.reach[path]
    return blocks is None or block < 0 or block >= len(blocks) or blocks[block] != 0


# ---- mutants ---------------------------------------------------------------------------------------------------------

class Mutant:
    def __init__(self, number, source, token, kind, edits):
        self.number, self.path, self.kind = number, source.path, kind
        self.line = source.line_of(token)
        self.text = source.edited(edits)
        self.block = source.block[token]
        old, new = source.text.splitlines(), self.text.splitlines()
        changed = [i for i in range(min(len(old), len(new))) if old[i] != new[i]]
        self.before = ' '.join(' '.join(old[i].strip() for i in changed).split())
        self.after = ' '.join(' '.join(new[i].strip() for i in changed).split())
        self.todo, self.flying, self.passed = [], 0, 0
        self.cpu = 0.0
        self.cancelled = threading.Event()
        self.linked, self.lock, self.mutants = {}, threading.Lock(), [self]
        self.status = None

    def row(self, options, by='', how=''):
        return {'seed': options.seed, 'candidate': self.number, 'file': self.path, 'line': self.line, 'kind': self.kind,
                'before': self.before, 'after': self.after, 'status': self.status, 'by': by, 'how': how,
                'reaching': self.reaching, 'tests': self.passed + (1 if by else 0), 'cpu_s': '%.1f' % self.cpu, 'note': '',
                'device': DEVICE, 'date': str(datetime.date.today())}


class Crowd:
    """Mutants of several files in one program."""

    def __init__(self, folder, mutants):
        self.folder, self.mutants = folder, mutants
        self.linked, self.lock = {}, threading.Lock()
        self.cancelled = threading.Event()
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)


class Hunt:
    def __init__(self, build, sources, tests, options):
        self.build, self.sources, self.tests, self.o = build, sources, tests, options
        self.lock = threading.Condition()
        self.draw = enumerate(candidates(sources, options.seed))
        self.active, self.judging, self.accepted, self.dry = [], 0, 0, False
        self.crowds = {}                         # by the numbers of its mutants
        self.rows, self.skipped = {}, collections.Counter()
        self.end = time.time() + options.seconds if options.seconds else None
        self.failure = None
        self.read_rows()

    def read_rows(self):
        """Rows of this seed that an earlier run left; what they tell of the tests counts for the others', too."""
        self.others = []
        if os.path.exists(self.o.csv):
            with open(self.o.csv, newline='', encoding='utf-8') as f:
                for r in csv.DictReader(f):
                    if int(r['seed']) == self.o.seed:
                        self.rows[int(r['candidate'])] = r
                    else:
                        self.others.append(r)
        for t in self.tests:
            t.kills = sum(r['by'] == t.name for r in self.others)
            t.runs = t.kills

    def write_rows(self):
        rows = self.others + [self.rows[k] for k in sorted(self.rows)]
        rows.sort(key=lambda r: (int(r['seed']), int(r['candidate'])))
        os.makedirs(os.path.dirname(self.o.csv) or '.', exist_ok=True)
        with open(self.o.csv + '.new', 'w', newline='', encoding='utf-8') as f:
            w = csv.DictWriter(f, FIELDS, lineterminator='\n')
            w.writeheader()
            w.writerows(rows)
        os.replace(self.o.csv + '.new', self.o.csv)

    def chance(self, test, mutant):
        """That this test catches this mutant, given that it reaches it."""
        layer = mutant.path.split('/')[1] if mutant.path.startswith('compiler/') else mutant.path.split('/')[0]
        prior = 0.4 if test.layer() == layer else 0.2
        return (test.kills + 2 * prior) / (test.runs + 2)

    # ---- one candidate: does it compile, is it another program?

    def prepare(self, m):
        folder = '%s/m%d' % (self.o.folder, m.number)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        m.folder, m.object = folder, folder + '/mutant.o'
        text = folder + '/' + os.path.basename(m.path)

        def object_of(body, out):
            with open(text, 'w', encoding='utf-8') as f:
                f.write('#line 1 "%s"\n%s' % (m.path, body))
            return run_quietly(self.build.compile(m.path, text, out))[0]

        if m.path not in self.build.compiles or not object_of(m.text, m.object):
            return 'does not compile'
        if not object_of(self.sources[m.path].text, folder + '/original.o'):
            return 'does not compile'
        with open(m.object, 'rb') as a, open(folder + '/original.o', 'rb') as b:
            if a.read() == b.read():
                return 'equivalent'
        found = [t for t in self.tests if reaches(t, m.path, m.block)]
        m.reaching = len(found)
        m.todo = sorted(found, key=lambda t: self.chance(t, m) / (t.cpu + 0.3), reverse=True)
        return None

    # ---- one test under one mutant, or under several

    def link(self, crowd, binary):
        """Of a Mutant or a Crowd, both of which have a folder and what was linked there."""
        with crowd.lock:
            if binary in crowd.linked:
                return crowd.linked[binary]
            out = crowd.folder + '/' + os.path.relpath(binary, self.build.build)
            os.makedirs(os.path.dirname(out), exist_ok=True)
            own = {os.path.join(self.build.build, m.path[:-2] + '.o') for m in crowd.mutants}
            words = [w for w in self.build.link(binary, out, [m.object for m in crowd.mutants]) if w not in own]
            crowd.linked[binary] = run_quietly(words)
            return crowd.linked[binary]

    def show(self, crowd, test):
        for binary in test.needs:
            ok, said = self.link(crowd, binary)
            if not ok:
                where = ', '.join(m.path for m in crowd.mutants)
                raise RuntimeError('%s does not link under a mutant of %s:\n%s' % (binary, where, said[:2000]))
        limits = Limits(10 + 10 * test.cpu, 60 + 20 * test.wall)
        return run_test(test, crowd.folder, limits, crowd.cancelled)

    def is_sound(self, test):
        """Does it pass here without any mutant? Asked when it catches its first; twice, as a machine may be busy."""
        with test.lock:
            if test.sound is None:
                folder = self.o.folder + '/plain'
                for binary in test.needs:
                    out = folder + '/' + os.path.relpath(binary, self.build.build)
                    os.makedirs(os.path.dirname(out), exist_ok=True)
                    run_quietly(self.build.link(binary, out, []))
                log = self.o.folder + '/unsound'
                for _ in range(2):
                    limits = Limits(10 + 10 * test.cpu, 60 + 20 * test.wall)
                    test.sound, how, _, _ = run_test(test, folder, limits, threading.Event(), keep=log)
                    if test.sound:
                        break
                    print('mutate: %s fails here without a mutant (%s), see %s.%s' % (
                        test.name, how, log, os.path.basename(test.name)), flush=True)
                if not test.sound:
                    print('mutate: %s is left out' % test.name, flush=True)
            return test.sound

    # ---- who does what next

    def work(self):
        try:
            while True:
                with self.lock:
                    task = self.next_task()
                    while task == 'wait':
                        self.lock.wait(1)
                        task = self.next_task()
                if task is None:
                    return
                task()
        except Exception as e:  # pylint: disable=broad-except
            with self.lock:
                self.failure = self.failure or e
                self.lock.notify_all()

    def is_over(self):
        if self.failure:
            return True
        if self.end and time.time() > self.end:
            for crowd in [*self.active, *self.crowds.values()]:
                crowd.cancelled.set()
            return True
        return False

    def next_task(self):
        if self.is_over():
            return None
        idle = [m for m in self.active if m.todo and not m.flying and m.cpu < DEAR]
        if idle:
            return self.test_task(idle[0].todo.pop(0), [idle[0]])
        if self.accepted + self.judging < self.o.n and not self.dry:
            return self.new_task()
        if [m for m in self.active if m.flying and m.cpu < DEAR]:
            return 'wait'                        # it may be about to join the others
        busy = [m for m in self.active if m.todo]
        if busy:
            return self.test_task(*self.best_crowd(busy))
        return 'wait' if self.active or self.judging else None

    def best_crowd(self, busy):
        """The test that promises most for what it costs, and whom it is shown, one mutant of each file."""
        promise = collections.Counter()
        for m in busy:
            for t in m.todo:
                promise[t] += self.chance(t, m) / (t.cpu + 0.3)
        test = max(promise, key=lambda t: promise[t])
        chosen = {}
        for m in busy:
            if test in m.todo and len(chosen) < CROWD:
                chosen.setdefault(m.path, m)
        for m in chosen.values():
            m.todo.remove(test)
        return test, list(chosen.values())

    def crowd_of(self, mutants):
        if len(mutants) == 1:
            return mutants[0]
        key = tuple(m.number for m in mutants)
        with self.lock:
            if key not in self.crowds:
                self.crowds[key] = Crowd('%s/c%d' % (self.o.folder, len(self.crowds)), mutants)
            return self.crowds[key]

    def test_task(self, test, mutants):
        for m in mutants:
            m.flying += 1

        def shown_to(some):
            """Shows them the test, and tells of each whether it was caught."""
            some = [m for m in some if m.status is None]
            if not some:
                return
            passed, how, cpu, _ = self.show(self.crowd_of(some), test) if test.sound is not False else (False, 'cancelled', 0, 0)
            if how and how != 'cancelled' and not self.is_sound(test):
                how = 'cancelled'
            with self.lock:
                for m in some if how != 'cancelled' else ():
                    m.cpu += cpu / len(some)
                    m.passed += passed
                    test.runs += passed or len(some) == 1
                    test.kills += not passed and len(some) == 1
                if not passed and how != 'cancelled' and len(some) == 1 and some[0].status is None:
                    self.finish(some[0], 'caught', test.name, how)
            if not passed and how != 'cancelled' and len(some) > 1:
                half = len(some) // 2
                shown_to(some[:half])
                shown_to(some[half:])

        def task():
            shown_to(mutants)
            with self.lock:
                for m in mutants:
                    m.flying -= 1
                    if m.status is None and not m.todo and not m.flying and not m.cancelled.is_set():
                        self.finish(m, 'survived')
                    elif m.status and not m.flying:
                        shutil.rmtree(m.folder, ignore_errors=True)
                self.lock.notify_all()
        return task

    def new_task(self):
        drawn = next(self.draw, None)
        if drawn is None:
            self.dry = True
            return 'wait' if self.active or self.judging else None
        number, (path, token, kind, edits) = drawn
        self.judging += 1

        def task():
            m = Mutant(number, self.sources[path], token, kind, edits)
            old = self.rows.get(number)
            if old and old['status'] != 'open' and \
                    (old['file'], old['before'], old['after']) == (m.path, m.before, m.after):
                why, known = None, True
            else:
                why, known = self.prepare(m), False
            with self.lock:
                self.judging -= 1
                if why:
                    self.skipped[why] += 1
                    shutil.rmtree(m.folder, ignore_errors=True)
                else:
                    self.accepted += 1
                    if known:
                        self.tell(old)
                    elif m.todo:
                        self.active.append(m)
                    else:
                        self.finish(m, 'survived')
                self.lock.notify_all()
        return task

    def finish(self, m, status, by='', how=''):
        m.status, m.todo = status, []
        m.cancelled.set()
        if m in self.active:
            self.active.remove(m)
        self.rows[m.number] = m.row(self.o, by, how)
        self.write_rows()
        self.tell(self.rows[m.number])
        if not m.flying:
            shutil.rmtree(m.folder, ignore_errors=True)

    def tell(self, r):
        where = '%s:%s' % (r['file'], r['line'])
        if r['status'] == 'caught':
            print('%4d  %-40s caught by %s (%s), %s s' % (self.accepted, where, r['by'], r['how'], r['cpu_s']), flush=True)
        else:
            print('%4d  %-40s %s %s of %s tests that reach it, %s s\n      - %s\n      + %s' % (
                self.accepted, where, r['status'].upper(), r['tests'], r['reaching'], r['cpu_s'], r['before'], r['after']),
                flush=True)

    def run(self):
        threads = [threading.Thread(target=self.work) for _ in range(self.o.jobs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for crowd in [*self.active, *self.crowds.values()]:
            shutil.rmtree(crowd.folder, ignore_errors=True)
        for m in self.active:
            if m.passed and m.status is None:     # as far as it is known
                m.status = 'open'
                self.rows[m.number] = m.row(self.o)
                self.tell(self.rows[m.number])
        self.write_rows()
        if self.failure:
            raise self.failure


# ---- the tree as it was at the beginning -----------------------------------------------------------------------------

def enter_copy(build, folder):
    """Copies all that tests and links read into folder/tree and goes there, so that the sources may be worked at meanwhile."""
    tree = folder + '/tree'
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(['git', 'ls-files', '-z', '-co', '--exclude-standard'], stdout=subprocess.PIPE, check=True, text=True)
    words = {w for words in build.links.values() for w in words if w.endswith(('.a', '.o')) and w.startswith(build.build + '/')}
    for path in [p for p in listed.stdout.split('\0') if p] + sorted(words):
        if os.path.exists(path):
            os.makedirs(os.path.dirname(tree + '/' + path), exist_ok=True)
            shutil.copy2(path, tree + '/' + path, follow_symlinks=False)
    where = subprocess.run(['git', 'rev-parse', '--absolute-git-dir'], stdout=subprocess.PIPE, check=True, text=True)
    os.environ.update(GIT_DIR=where.stdout.strip(), GIT_WORK_TREE=os.path.realpath(tree))
    os.chdir(tree)


# ---- what came of it -------------------------------------------------------------------------------------------------

def folder_of(path):
    """compiler/capture, tuner: a layer has tests of its own."""
    return '/'.join(path.split('/')[:2 if path.startswith('compiler/') and path.count('/') > 1 else 1])


def table(rows):
    """Markdown: caught of how many, by folder, then what nothing caught."""
    folders = collections.OrderedDict()
    for r in sorted(rows, key=lambda r: r['file']):
        folders.setdefault(folder_of(r['file']), []).append(r)
    lines = ['| folder | mutants | caught | by its own unit tests | caught since |',
             '|--------|--------:|-------:|----------------------:|-------------:|']

    def line(name, some):
        caught = [r for r in some if r['status'] == 'caught']
        own = [r for r in caught if re.match('tests/unit/test_%s_' % folder_of(r['file']).split('/')[-1], r['by'])]
        judged = [r for r in some if r['note'] != 'equivalent']
        since = [r for r in judged if r['note'].startswith('tests/')]
        lines.append('| %s | %d | %d (%.0f %%) | %d | %d |' % (
            name, len(judged), len(caught), 100 * len(caught) / max(len(judged), 1), len(own), len(since)))

    for folder, some in folders.items():
        line('`%s/`' % folder, some)
    line('all', rows)
    lost = [r for r in rows if r['status'] != 'caught']
    if lost:
        lines += ['', '| not caught | the line | as it was changed | caught since by |', '|---|---|---|---|']

        def code(text):
            return '`%s`' % text.replace('|', '\\|') if text else ''
        lines += ['| `%s:%s` | %s | %s | %s |' % (r['file'], r['line'], code(r['before']), code(r['after']), r['note'])
                  for r in lost]
    return '\n'.join(lines)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--n', type=int, default=60)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--jobs', type=int, default=os.cpu_count())
    p.add_argument('--seconds', type=float, default=0)
    p.add_argument('--only', default='')
    p.add_argument('--least', type=float, default=0)
    p.add_argument('--csv')
    p.add_argument('--tests', default='', help='a pattern: only these tests')
    p.add_argument('--fresh', action='store_true', help='forget which test reaches what')
    p.add_argument('--known', action='store_true', help='look at no test again that has changed since')
    p.add_argument('--table', action='store_true')
    p.add_argument('--probe', action='store_true')
    p.add_argument('--list', action='store_true', help='print the mutants, build none')
    o = p.parse_args()
    build_dir = os.environ.get('BUILD', 'build')
    o.folder = build_dir + '/mutate'
    o.csv = o.csv or o.folder + '/mutants.csv'
    if o.table:
        with open(o.csv, newline='', encoding='utf-8') as f:
            print(table(list(csv.DictReader(f))))
        return 0
    everything = all_sources('')
    if o.list:
        drawn = candidates({p: s for p, s in everything.items() if p.startswith(o.only)}, o.seed)
        for (path, token, kind, edits), number in zip(drawn, range(o.n)):
            m = Mutant(number, everything[path], token, kind, edits)
            print('%s:%d: %s\n  - %s\n  + %s' % (m.path, m.line, kind, m.before, m.after))
        return 0
    os.makedirs(o.folder, exist_ok=True)
    if not os.path.islink(o.folder + '/workloads'):
        os.symlink(os.path.realpath('workloads'), o.folder + '/workloads')  # where a command looks, beside its own folder
    build = Build(build_dir)
    tests = look_at_tests(build, everything, [t for t in all_tests(build) if re.search(o.tests, t.name)], o)
    if not tests:
        return 3
    if o.probe:
        return 0
    o.folder, o.csv = os.path.realpath(o.folder), os.path.realpath(o.csv)
    enter_copy(build, o.folder)
    hunt = Hunt(build, {p: s for p, s in everything.items() if p.startswith(o.only)}, tests, o)
    hunt.run()
    rows = [r for r in hunt.rows.values()]
    caught = sum(r['status'] == 'caught' for r in rows)
    print('%d mutants of seed %d: %d caught, %d not (%.0f %%); left out: %s' % (
        len(rows), o.seed, caught, len(rows) - caught, 100 * caught / max(len(rows), 1),
        ', '.join('%d %s' % (n, why) for why, n in sorted(hunt.skipped.items())) or 'none'))
    if hunt.accepted < o.n and hunt.is_over():
        print('mutate: the time is over; the same call goes on from here')
    return 1 if rows and 100 * caught < o.least * len(rows) else 0


if __name__ == '__main__':
    sys.exit(main())
