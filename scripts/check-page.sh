#!/usr/bin/env bash
# check-page.sh: the report's pages in a browser: nothing on the console, no sideways scrolling at 400 and 1600 pixels, all
# images load, letters have a contrast of 4.5 or more, light and dark; and the table can be sorted and filtered.
#
#   scripts/check-page.sh [FOLDER OF RESULTS ...]     default: reports/samples/h100, h200 and cpu in one
#   SHOTS=DIR scripts/check-page.sh                   also leaves a screenshot of each
#
# Needs chromium (`scripts/deps.sh page`); without it: skipped, and said so. Exit status: 0 fine or skipped, 1 a page is not.
set -euo pipefail
cd "$(dirname "$0")/.."

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
    echo 'check-page: skipped: no chromium (scripts/deps.sh page installs it)'
    exit 0
fi
warpsmith=${WARPSMITH:-build/warpsmith}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/results"
[ $# -gt 0 ] || set -- reports/samples/h100 reports/samples/h200 reports/samples/cpu
for folder in "$@"; do
    for file in "$folder"/*.csv; do cp "$file" "$tmp/results/$(basename "$folder")_$(basename "$file")"; done
done
"$warpsmith" report --results "$tmp/results" >/dev/null

# What the page is asked, in it: prints one line for each thing that is wrong, into an element that --dump-dom shows.
cat >"$tmp/ask.js" <<'JS'
const wrong = [];
window.addEventListener('error', e => wrong.push('error: ' + e.message));
function channels(text) {
  const m = text.match(/rgba?\(([^)]*)\)/);
  return m ? m[1].split(/[ ,\/]+/).map(Number) : null;
}
function luminance(c) {
  const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(a, b) {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
}
function background(e) {
  for (; e; e = e.parentElement) {
    const c = channels(getComputedStyle(e).backgroundColor);
    if (c && (c.length < 4 || c[3] > 0)) return c;
  }
  return [255, 255, 255];
}
// What is painted last under the middle of a text of a figure: a filled shape before it in the file, or the page.
function painted_under(text) {
  const box = text.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
  let under = background(text.closest('figure'));
  for (const shape of text.closest('svg').querySelectorAll('polygon, text')) {
    if (shape === text) break;
    if (shape.tagName === 'text') continue;
    const b = shape.getBoundingClientRect(), c = channels(getComputedStyle(shape).fill);
    if (c && b.left < x && x < b.right && b.top < y && y < b.bottom) under = c;
  }
  return under;
}
window.addEventListener('load', async () => {
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) wrong.push(`scrolls sideways: ${page.scrollWidth} of ${innerWidth} pixels`);
  const shown = [...document.querySelectorAll('figure svg')].filter(s => s.getBoundingClientRect().width > 0);
  const figures = document.querySelectorAll('figure').length;
  if (shown.length !== figures) wrong.push(`${shown.length} of ${figures} figures are shown`);
  for (const s of shown) {
    if (!s.getAttribute('aria-label')) wrong.push('a figure says nothing to those who cannot see it');
    if (s.querySelectorAll('text').length < 2) wrong.push('a figure has no letters');
    const inside = s.viewBox.baseVal.width / s.getBoundingClientRect().width;
    for (const t of s.querySelectorAll('text')) {
      const size = parseFloat(getComputedStyle(t).fontSize) / inside;
      if (size < 9.5) { wrong.push(`letters of ${size.toFixed(1)} pixels`); break; }
    }
  }
  await Promise.all([...document.querySelectorAll('a[href$=".png"]')].map(a => new Promise(done => {
    const image = new Image();
    image.onload = () => { if (!image.naturalWidth) wrong.push('empty: ' + a.href); done(); };
    image.onerror = () => { wrong.push('does not load: ' + a.href); done(); };
    image.src = a.href;
  })));
  const ids = new Set();
  for (const e of document.querySelectorAll('[id]')) {
    if (ids.has(e.id)) wrong.push('two elements are called ' + e.id);
    ids.add(e.id);
  }
  for (const a of document.querySelectorAll('a[href^="#"]'))
    if (!ids.has(a.getAttribute('href').slice(1))) wrong.push('leads nowhere: ' + a.getAttribute('href'));
  let least = 99;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walker.nextNode());) {
    const e = n.parentElement, box = e.getBoundingClientRect();
    if (!n.textContent.trim() || !box.width || ['SCRIPT', 'STYLE'].includes(e.tagName)) continue;
    const figure = e.closest('svg'), style = getComputedStyle(e);
    const ink = channels(figure ? style.fill : style.color);
    if (!ink) continue;
    const c = contrast(ink, figure ? painted_under(e.closest('text')) : background(e));
    least = Math.min(least, c);
    if (c < 4.5) wrong.push(`contrast ${c.toFixed(2)}: "${n.textContent.trim().slice(0, 40)}" ${ink}`);
  }
  const form = document.getElementById('filter'), rows = [...document.querySelectorAll('#cases tbody tr')];
  if (!form || form.hidden || !rows.length) wrong.push('no filter, or no cases');
  else {
    form.words.value = 'no such case';
    form.dispatchEvent(new Event('input'));
    if (rows.some(r => !r.hidden)) wrong.push('the filter hides nothing');
    form.words.value = '';
    form.dispatchEvent(new Event('input'));
    if (rows.some(r => r.hidden)) wrong.push('the filter shows not all');
    const column = [...document.querySelectorAll('#cases th')].findIndex(h => h.textContent === 'tuned');
    if (column >= 0) {
      document.querySelectorAll('#cases th')[column].querySelector('button').click();
      const values = [...document.querySelectorAll('#cases tbody tr')].map(r => r.cells[column].dataset.v)
                         .filter(v => v !== '').map(Number);
      if (values.some((v, i) => i && v > values[i - 1])) wrong.push('tuned is not sorted');
    }
  }
  const said = 'ASKED ' + innerWidth + ' pixels, least contrast ' + least.toFixed(2) + '\n' + [...new Set(wrong)].map(w => 'WRONG ' + w).join('\n') + '\nASKED-END';
  parent.postMessage(said, '*');
});
JS
# A window is never less than 500 pixels wide, a frame is.
frame() { # PAGE WIDTH
    printf '<!doctype html><meta charset=utf-8><body style="margin:0"><iframe src="%s" style="border:0;width:%spx;height:900px"></iframe>' "$1" "$2"
    printf '<script>addEventListener("message", e => { const p = document.createElement("pre"); p.textContent = e.data; '
    printf 'document.body.append(p); });</script>'
}

failed=0
ask() { # PAGE WIDTH SCHEME(0 dark, 1 light)
    local page=$1 width=$2 scheme=$3 name said
    name=$(basename "$page" .html)-$width-$([ "$scheme" = 0 ] && echo dark || echo light)
    sed "s|</title>|</title><script src=\"$tmp/ask.js\"></script>|" "$page" >"${page%.html}.asked.html"
    frame "file://${page%.html}.asked.html" "$width" >"$tmp/frame.html"
    said=$("$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
        --user-data-dir="$tmp/profile" --blink-settings=preferredColorScheme="$scheme" --window-size=1700,1000 \
        --virtual-time-budget=20000 --enable-logging=stderr --dump-dom "file://$tmp/frame.html" 2>"$tmp/log" |
        sed -n '/ASKED [0-9]/,/ASKED-END/p' | sed 's/<[^>]*>//g') || true
    rm -f "${page%.html}.asked.html"
    if [ -n "${SHOTS:-}" ]; then
        mkdir -p "$SHOTS"
        "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/profile" \
            --blink-settings=preferredColorScheme="$scheme" --window-size="$width,4000" \
            --screenshot="$SHOTS/$name.png" "file://$page" >/dev/null 2>&1 || true
    fi
    if ! grep -q ASKED-END <<<"$said" || grep -q '^WRONG' <<<"$said" || grep 'CONSOLE' "$tmp/log" >&2; then
        echo "check-page: $name:" >&2
        sed -n 's/^/    /p' <<<"${said:-no answer}" | grep -v ASKED-END | head -12 >&2
        failed=1
    else
        echo "$name: fine:$(sed -n 's/.*ASKED//p' <<<"$said" | head -1)"
    fi
}

pages=("$tmp/results/report/index.html")
for page in "$tmp"/results/report/workload-*.html; do # one of several cases, one of a sweep or of one case
    case $page in *workload-softmax.html | *int8_linear.html) pages+=("$page") ;; esac
done
[ ${#pages[@]} -gt 1 ] || pages+=("$(find "$tmp/results/report" -name 'workload-*.html' | sort | head -1)")
for page in "${pages[@]}"; do
    for link in $(grep -o 'href="[^"#]*"' "$page" | sed 's/href="//; s/"$//' | grep -v '^data:' | sort -u); do
        [ -s "$(dirname "$page")/$link" ] || { echo "check-page: $(basename "$page"): '$link' is not there" >&2 && failed=1; }
    done
    for width in 400 1600; do
        for scheme in 1 0; do ask "$page" "$width" "$scheme"; done
    done
done
[ "$failed" = 0 ] && echo 'check-page: all fine'
exit "$failed"
