#!/usr/bin/env bash
# check-includes.sh: who may use whom, and other rules of which each is one line of code. Holds the layers of
# compiler/README.md in the sources; the linker holds them in the unit tests.
#
#   scripts/check-includes.sh [ROOT]
#
# Each breach is one line, "file:line: rule". Exit status 1 if there is any.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

find compiler tuner reports tests -name '*.[ch]' -o -name '*.def' 2>/dev/null | sort | awk '
BEGIN {
    # A folder may use itself and:
    may["base"] = ""
    may["frontend"] = "base"
    may["graph"] = "base"
    may["capture"] = "base frontend graph"
    may["loop"] = "base graph"
    may["schedule"] = "base graph loop"
    may["kernel"] = "base graph loop schedule"
    may["tile"] = "base graph loop schedule kernel"
    may["emit"] = "base graph loop schedule kernel tile"
    may["runtime"] = "base"
    may["compile"] = "base frontend graph capture loop schedule kernel tile emit runtime"
    may["reports"] = ""
    may["tuner"] = "reports"
}
{ files[++n_files] = $0; exists[$0] = 1 }
END {
    for (i = 1; i <= n_files; i++) check_file(files[i])
    if (n_csv > 1) report_all(n_csv, csv, "csv.h is included by one file only")
    for (i = 1; i <= n_sqlite; i++)
        if (sqlite_in[folder_of(sqlite[i])] > 1) {
            printf "%s: sqlite3.h is included by one file of a folder only\n", sqlite[i]
            breaches++
        }
    exit breaches > 0
}

function breach(rule) { printf "%s:%d: %s\n", file, line, rule; breaches++ }

function report_all(n, places, rule,   i) {
    for (i = 1; i <= n; i++) printf "%s: %s\n", places[i], rule
    breaches++
}

# compiler/graph/x.c -> graph, compiler/ws.h -> compile, tuner/x.c -> tuner, tests/unit/x.c -> tests
function folder_of(path,   part, n) {
    n = split(path, part, "/")
    if (part[1] != "compiler") return part[1]
    return n == 2 ? "compile" : part[2]
}

function check_file(path) {
    file = path
    folder = folder_of(path)
    line = 0
    in_comment = 0
    depth = 0
    while ((getline text < path) > 0) {
        line++
        if (!in_comment && text ~ /^[ \t]*#[ \t]*include[ \t]*[<"]/) check_include(text)
        else if (folder != "tests") check_code(strip(text))
        else strip(text)
    }
    close(path)
}

# From where the compiler looks: the own folder, then -Icompiler, then -I.
function check_include(text,   name, beside, target) {
    sub(/^[^<"]*[<"]/, "", text)
    sub(/[>"].*/, "", text)
    name = text
    beside = file
    sub(/[^\/]*$/, name, beside)
    while (sub(/[^\/]+\/\.\.\//, "", beside)) {}
    target = beside in exists ? beside : ("compiler/" name) in exists ? "compiler/" name : name in exists ? name : ""
    if (target == "") check_foreign(name)
    else if (folder != "tests") check_ours(target)
}

function check_foreign(name) {
    if (name ~ /^(cuda[a-zA-Z_]*|nvrtc|cupti[a-z_]*|nvml)\.h$/ &&
        file !~ /^compiler\/runtime\/cuda\// && file != "tests/unit/test_runtime_abi.c")
        breach(name " belongs to compiler/runtime/cuda")
    if (folder == "tests") return
    if (name == "csv.h") csv[++n_csv] = file ":" line
    if (name == "sqlite3.h") {
        sqlite[++n_sqlite] = file ":" line
        sqlite_in[folder]++
    }
}

function check_ours(target,   to) {
    to = folder_of(target)
    if (to == folder) return
    if (folder == "tuner" && target ~ /^compiler\/ws(_tune|_backend)?\.h$/) return
    if (!(folder in may)) breach("compiler/" folder " is no layer: give it a line in scripts/check-includes.sh")
    else if (index(" " may[folder] " ", " " to " ") == 0)
        breach(folder " may include " (folder == "tuner" ? "ws.h, ws_tune.h and reports" : \
               may[folder] == "" ? "only its own headers" : may[folder]) ", not " target)
}

# The line without comments and the insides of strings.
function strip(text,   out, end) {
    out = ""
    for (;;) {
        if (in_comment) {
            end = index(text, "*/")
            if (!end) return out
            text = substr(text, end + 2)
            in_comment = 0
        }
        if (!match(text, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|\/\*|\/\//)) return out text
        out = out substr(text, 1, RSTART - 1)
        end = substr(text, RSTART, 2)
        if (end == "//") return out
        if (end == "/*") in_comment = 1
        else out = out "\"\""
        text = substr(text, RSTART + RLENGTH)
    }
}

function calls(code, name) { return code ~ ("(^|[^A-Za-z0-9_])(" name ")[ \t]*\\(") }

function check_code(code) {
    if (calls(code, "getenv|secure_getenv") && file != "compiler/base/options.c")
        breach("the environment is read in compiler/base/options.c only")
    if (calls(code, "exit|quick_exit") && file != "tuner/main.c") breach("exit belongs to tuner/main.c")
    if (file ~ /^compiler\// &&
        (calls(code, "printf|vprintf|puts|putchar") || code ~ /(^|[^A-Za-z0-9_])stdout([^A-Za-z0-9_]|$)/))
        breach("compiler/ does not write to stdout")
    check_switches(code)
}

# A switch over operators names all of them, so that the compiler finds one that is missing: it has no default.
function check_switches(code,   i, c) {
    if (code ~ /case OP_[A-Z]/) of_operators[depth] = 1
    if (code ~ /(^|[^A-Za-z0-9_])default[ \t]*:/ && of_operators[depth]) breach("a switch over operators has no default")
    if (code ~ /switch \(\(int\)/) breach("a switch is over what it is, not over an int of it")
    for (i = 1; i <= length(code); i++) {
        c = substr(code, i, 1)
        if (c == "{") of_operators[++depth] = 0
        if (c == "}") depth--
    }
}'
