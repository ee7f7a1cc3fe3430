
# ---- style.gp: what all figures share: terminal, letters and colours ----
# Above this line: settings and data. Run `gnuplot THIS` to draw a PNG again; -e "narrow = 1" draws it for a small screen.
# Letters are 12 pixels at font ",9" on either terminal.
if (!exists("format")) format = "png"
if (!exists("out")) out = "figure.png"
if (format eq "svg") set terminal svg size width, height font "sans-serif,12" fontscale 1.3 background "white"
if (format eq "png") set terminal pngcairo size 1.5 * width, 1.5 * height fontscale 1.5 linewidth 1.5 font "Sans,9"
set output out
width = 1.0 * width # whole numbers would divide as such
height = 1.0 * height

ink = "#2b2f36"
faded = "#5c636e"
frame = "#9aa1ab"
faint = "#e3e6ea"
ours = "#2f6d9e"
accent = "#b4532a"

set border 0 linecolor rgb frame
set tics nomirror scale 0.4 textcolor rgb ink
set style fill solid 1.0 noborder
set clip two
unset key

