# check.sh: for tests/run/*_texts.sh to source, whose texts are goldens.
# shellcheck shell=bash disable=SC2154 # TMP and golden are the caller's

# check_texts NAME...: is each TMP/NAME.txt what golden, a folder of tests/golden, has? With UPDATE=1 it becomes that.
check_texts() {
    local name failed=0
    for name; do
        if [ "${UPDATE:-}" ]; then
            cp "$TMP/$name.txt" "$golden/$name.txt"
        elif ! diff "$golden/$name.txt" "$TMP/$name.txt" >"$TMP/diff"; then
            failed=1
            echo "tests/golden/$(basename "$golden")/$name.txt is not what is said now:"
            head -n 40 "$TMP/diff"
        fi
    done
    return $failed
}
