# speedup.gp: how much faster the tuned program is than unfused kernels, PyTorch eager and torch.compile, for every benchmark.
# Above this line: settings and data. Run `gnuplot THIS` to draw a PNG again.

if (!exists("format")) format = "png"
if (!exists("out")) out = "speedup.png"
if (format eq "svg") set terminal svg name "speedup" size width, height font "sans-serif,12" fontscale 1.3 background "white"
if (format eq "png") set terminal pngcairo size 1.5 * width, 1.5 * height fontscale 1.5 linewidth 1.5 font "Sans,9"
set output out

ink = "#2b2f36"
set border 1 linecolor rgb "#9aa1ab"
set tics nomirror scale 0.4 textcolor rgb ink
set style fill solid 1.0 noborder
unset key
set lmargin at screen label_share
set rmargin at screen 0.97
set tmargin at screen 1 - 58.0 / height
set bmargin at screen 56.0 / height

set label 1 "Tuned program: speedup over" at screen 0.012, screen 1 - 22.0 / height left font ",12" textcolor rgb ink
array opponent[3] = ["unfused kernels", "torch eager", "torch.compile, its best mode"]
array colour[3] = ["#9aa3af", "#c9ae79", "#b98245"]
do for [i = 1:3] {
    set label 1 + i "■ " . opponent[i] at screen 0.012 + 0.26 + 0.13 * (i - 1), screen 1 - 22.0 / height left font ",11" textcolor rgb colour[i]
}
set xrange [0 : longest * 1.1]
set yrange [n_benches + 0.55 : 0.45]
set xtics autofreq font ",10"
set xlabel "times faster (1 = equal)" font ",10.5" textcolor rgb ink
set ytics () font ",10" noenhanced scale 0
set grid xtics linetype 1 linewidth 1 linecolor rgb "#e3e6ea"
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linewidth 1.2 linecolor rgb ink front

plot $ticks using (0):1:ytic(2) with points pointtype -1, \
     $bars using (0):1:(0):2:($1 - 0.13):($1 + 0.13):3 with boxxyerror linecolor rgb variable, \
     $bars using 2:1:4 with labels left offset 0.6, 0 font ",9" textcolor rgb ink noenhanced
