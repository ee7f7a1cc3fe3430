# roofline.gp: what the tuned programs achieve against what the device allows: its copy bandwidth, and its peak if known.
# Above this line: settings and data. Run `gnuplot THIS` to draw a PNG again.

if (!exists("format")) format = "png"
if (!exists("out")) out = "roofline.png"
if (format eq "svg") set terminal svg name "roofline" size width, height font "sans-serif,12" fontscale 1.3 background "white"
if (format eq "png") set terminal pngcairo size 1.5 * width, 1.5 * height fontscale 1.5 linewidth 1.5 font "Sans,9"
set output out

ink = "#2b2f36"
set tmargin at screen 1 - 44.0 / height
set border 3 linecolor rgb "#9aa1ab"
set tics nomirror scale 0.4 textcolor rgb ink font ",10"
set key bottom right reverse Left font ",10" textcolor rgb ink noenhanced
set logscale xy
set format x "%g"
set format y "%.0s%c"
set xrange [x_min : x_max]
set yrange [y_min : y_max]
set xlabel "arithmetic intensity, FLOP per byte that must move" font ",10.5" textcolor rgb ink
set ylabel "GFLOP/s" font ",10.5" textcolor rgb ink
set grid xtics ytics linetype 1 linewidth 1 linecolor rgb "#e3e6ea"
set label 1 "Roofline: tuned programs" at graph 0, graph 1 left offset 0, 1 font ",12" textcolor rgb ink

array colour[6] = ["#2f6d9e", "#b4532a", "#5b8c5a", "#7d5ba6", "#b98245", "#5f6b7a"]
plot for [d = 1:n_devices] $roofs index d - 1 using 1:2 with lines linewidth 1.8 linecolor rgb colour[(d - 1) % 6 + 1] \
         title word(device_names, d), \
     $points using 1:2:($4 - $1):($5 - $2) with vectors nohead linewidth 0.8 linecolor rgb "#b6bcc6" notitle, \
     for [d = 1:n_devices] $points using ($3 == d ? $1 : NaN):2 with points pointtype 7 pointsize 0.9 \
         linecolor rgb colour[(d - 1) % 6 + 1] notitle, \
     $points using 4:5:6 with labels left offset 0.7, 0 font ",9" textcolor rgb ink noenhanced notitle
