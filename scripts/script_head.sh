# script_head.sh: for scripts that take no arguments to source, in the project's folder: --help prints the comment at
# their top, anything else is a wrong call.
#
#   . scripts/script_head.sh
#   need_warpsmith "$warpsmith"
# shellcheck shell=bash

case ${1-} in
'') ;;
-h | --help)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
    exit 0
    ;;
*)
    echo "$(basename "$0" .sh): takes no arguments, see --help" >&2
    exit 2
    ;;
esac

# need_warpsmith FILE: nothing runs without it.
need_warpsmith() {
    [ -x "$1" ] && return
    echo "$(basename "$0" .sh): no '$1' here: run make first" >&2
    exit 3
}
