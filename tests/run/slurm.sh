#!/usr/bin/env bash
# scripts/slurm on a real slurmctld and slurmd, with a task that is killed while it runs a case: nothing lost, nothing run
# twice. Nothing here hangs on how fast the machine is: what is to be seen happening is held until it has been seen.
set -uo pipefail

for command in slurmctld slurmd munged sbatch; do
    if ! PATH=$PATH:/usr/sbin command -v $command >/dev/null; then
        echo "no $command: the packages slurm-wlm and munge have it"
        exit 77
    fi
done
PATH=$PATH:/usr/sbin

failures=0
fail() {
    printf '%s\n' "$@"
    failures=$((failures + 1))
}

# until COMMAND...: until it is true; three minutes are a hang.
until_() {
    for ((tries = 0; tries < 1800; tries++)); do
        "$@" && return
        sleep 0.1
    done
    fail "waited in vain for: $*" "$(squeue 2>&1)" "$(tail -n 20 "$TMP"/cluster/*.log "$TMP"/results/slurm*/*.log 2>&1)"
    exit 1
}

# ---- a cluster of one host --------------------------------------------------------------------------------------------

cluster=$TMP/cluster
daemons=()
close_cluster() {
    scancel --user="$(id -un)" 2>/dev/null
    for ((tries = 0; tries < 100; tries++)); do
        [ -n "$(squeue --noheader 2>/dev/null)" ] || break
        sleep 0.1
    done
    [ ${#daemons[@]} -eq 0 ] || kill "${daemons[@]}" 2>/dev/null
    wait
}
mkdir -m 700 "$cluster" "$cluster/munge"
mkdir "$cluster/state" "$cluster/spool" "$cluster/cgroup"
# Sockets have short names.
socket=$(mktemp -d /tmp/warpsmith-munge.XXXXXX)
trap 'close_cluster; rm -rf "$socket"' EXIT
read -r ports < <(python3 -c 'import socket
s = [socket.socket() for _ in range(2)]
for x in s: x.bind(("", 0))
print(*(x.getsockname()[1] for x in s))')
(umask 077 && head -c 128 /dev/urandom >"$cluster/munge/key")
munged --foreground --force --key-file="$cluster/munge/key" --socket="$socket/s" --pid-file="$cluster/munge/pid" \
    --log-file="$cluster/munge.log" --seed-file="$cluster/munge/seed" >/dev/null 2>&1 &
daemons+=($!)
until_ [ -S "$socket/s" ]
host=$(hostname -s)
cat >"$cluster/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
AuthType=auth/munge
AuthInfo=socket=$socket/s
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
# Nothing is controlled by groups: without these lines slurmd looks for those of the machine.
printf '%s\n' CgroupPlugin=cgroup/v1 "CgroupMountpoint=$cluster/cgroup" CgroupAutomount=no >"$cluster/cgroup.conf"
export SLURM_CONF=$cluster/slurm.conf
slurmctld -c -D -f "$SLURM_CONF" >/dev/null 2>&1 &
daemons+=($!)
slurmd -D -f "$SLURM_CONF" >"$cluster/slurmd.out" 2>&1 &
daemons+=($!)
idle() { [ "$(sinfo --noheader --format=%T 2>/dev/null)" = idle ]; }
for ((tries = 0; tries < 300; tries++)); do
    if idle; then break; fi
    if ! kill -0 "${daemons[2]}" 2>/dev/null; then
        # In some containers it cannot: that is no fault of ours.
        echo "slurmd does not start here: $(tail -n 1 "$cluster/slurmd.log")"
        exit 77
    fi
    sleep 0.1
done
until_ idle

# ---- a suite ----------------------------------------------------------------------------------------------------------

# The compiler of the case with 48 rows waits as long as there is a file `hold`.
cat >"$TMP/cc" <<'END'
#!/usr/bin/env bash
if tr '\0' ' ' </proc/$PPID/cmdline | grep -q rows=48; then
    touch "$TMP/held"
    while [ -e "$TMP/hold" ]; do sleep 0.05; done
fi
exec cc "$@"
END
chmod +x "$TMP/cc"
export TMP CC=$TMP/cc WARPSMITH_CACHE=$TMP/mine/store.db RESULTS=$TMP/results DEVICES=cpu TASKS=2
for rows in 16 32 48 64; do
    echo "softmax -D rows=$rows -D dim=64 --budget 1t --samples-max 3"
done >"$TMP/cases.txt"
mkdir "$TMP/results"

echo 'sofmax' >"$TMP/wrong.txt"
code=0
said=$(scripts/slurm/submit.sh "$TMP/wrong.txt" 2>&1) || code=$?
if [ $code != 2 ] || [[ $said != *"line 1: no workload 'sofmax'"* ]]; then fail "a wrong case: exit $code" "$said"; fi
code=0
said=$(scripts/slurm/submit.sh "$TMP/cases.txt" --partition=nowhere 2>&1) || code=$?
if [ $code = 0 ] || [[ $said != *'invalid partition'* ]]; then fail "no such partition: exit $code" "$said"; fi

touch "$TMP/hold"
scripts/slurm/submit.sh "$TMP/cases.txt" >"$TMP/said" 2>&1
if ! grep -q 'round 1: job [0-9]*, tasks 1,2' "$TMP/said"; then
    echo "submit: $(cat "$TMP/said")"
    exit 1
fi

# Task 1 has done case 1, and is in the middle of case 3: it is killed, as a host that fails would do it.
until_ [ -e "$TMP/held" ]
suite=$(echo "$TMP"/results/suite-*)
[ -e "$suite/case-1/exit" ] || fail 'case 3 runs before case 1 is done'
compgen -G "$suite/case-3.part-*" >/dev/null || fail 'case 3 does not run'
cp "$suite/case-1/log" "$TMP/first.log"
cp "$suite/case-1/softmax.csv" "$TMP/first.csv"
task=
for process in /proc/[0-9]*; do
    words=$({ tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null)
    if [[ $words == *" suite $TMP/"*"--part 1/2 " ]]; then task=${process#/proc/}; fi
done
[ -n "$task" ] || fail 'no process of task 1'
kill -9 "$task"
# The job that collects sees that case 3 is missing, and submits task 1 once more.
until_ grep -qs 'round 2: job [0-9]*, tasks 1$' "$TMP/results/slurm.log"
rm "$TMP/hold"
over() { [ -z "$(squeue --noheader)" ]; }
until_ over

said=$(cat "$TMP/results/slurm.log")
[[ $said == *'not done: case 3'* ]] || fail 'collect did not see what was missing:' "$said"
[[ $said != *'not done: case 1'* ]] || fail 'collect missed what was there:' "$said"
[ "$(ls "$TMP/results")" = $'logs\nslurm.log\nsoftmax.csv' ] || fail 'more is left than should be:' "$(ls "$TMP/results")" "$said"
python3 - "$TMP/results/softmax.csv" <<'PY' || fail 'the rows are not those of four cases, each once'
import collections, csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
roles = collections.Counter((r['axes'], r['role']) for r in rows if r['role'] != 'variant')
axes = {r['axes'] for r in rows}
assert len(axes) == 4, roles
assert all(roles[a, k] == 1 for a in axes for k in ('eager', 'default', 'tuned', 'roof')), roles
assert len(roles) == 16 and len({r['run_id'] for r in rows}) == 1, roles
assert all(None not in r and None not in r.values() for r in rows)
PY
cmp "$TMP/first.log" "$TMP"/results/logs/*-1.log || fail 'case 1 has run twice'
if tail -n +2 "$TMP/first.csv" | grep -vxFf "$TMP/results/softmax.csv"; then fail 'rows of case 1 are lost'; fi
known=$("$WARPSMITH" cache ls 2>/dev/null | grep -c softmax)
[ "$known" -ge 4 ] || fail 'tuned kernels are lost:' "$("$WARPSMITH" cache ls)"

[ "$failures" = 0 ]
