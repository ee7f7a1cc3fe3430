# ---- tuning.gp: a kernel's search: its best time by trial, its configs by two knobs, the samples of its fastest ----
# $trials: place, us, fastest so far, state (0 timed, 1 winner, 2 not timed). $cells: column, row, us, winner, label.
# $boxes: place, least, lower quartile, median, upper quartile, half of the interval, winner, label.

set multiplot
tall = narrow ? (height / 3.0) : height
array left[3]
array right[3]
array top[3]
do for [p = 1:3] {
    left[p] = narrow ? 0.0 : (p == 1 ? 0.0 : p == 2 ? width * 0.33 : width * 0.66)
    right[p] = narrow ? width : (p == 1 ? width * 0.32 : p == 2 ? width * 0.65 : width)
    top[p] = narrow ? height - tall * (p - 1) : height
}
# every trial
set lmargin at screen (left[1] + 58) / width
set rmargin at screen (right[1] - 12) / width
set tmargin at screen (top[1] - 34) / height
set bmargin at screen (top[1] - tall + 44) / height
set border 3
set logscale y
set xrange [0.3 : n_trials + 0.7]
set yrange [us_low : us_high]
set xtics font ",8.5"
set ytics @us_tics font ",8.5"
set grid ytics linetype 1 linewidth 1 linecolor rgb faint
set label 1 "Search: µs of each trial, and fastest so far" at screen (left[1] + 6) / width, screen (top[1] - 14) / height left font ",9.5" textcolor rgb ink
set xlabel "trial" font ",9" offset 0, 0.5 textcolor rgb ink
plot $trials using ($4 != 2 ? $1 : NaN):2 with points pointtype 6 pointsize 0.7 linecolor rgb faded, \
     $trials using 1:($3 > 0 ? $3 : NaN) with steps linewidth 2 linecolor rgb ours, \
     $trials using ($4 == 2 ? $1 : NaN):(us_low * 1.02) with points pointtype 2 pointsize 0.7 linecolor rgb accent, \
     $trials using ($4 == 1 ? $1 : NaN):2 with points pointtype 7 pointsize 1.3 linecolor rgb ours
unset label
unset logscale
unset grid

# configs by two knobs
set lmargin at screen (left[2] + 58) / width
set rmargin at screen (right[2] - 12) / width
set tmargin at screen (top[2] - 34) / height
set bmargin at screen (top[2] - tall + 44) / height
set label 1 map_title at screen (left[2] + 6) / width, screen (top[2] - 14) / height left font ",9.5" textcolor rgb ink noenhanced
if (n_columns > 0) {
    set border 0
    set xrange [0.5 : n_columns + 0.5]
    set yrange [0.5 : n_rows + 0.5]
    set xtics @column_tics scale 0 font ",8.5"
    set ytics @row_tics scale 0 font ",8.5"
    set xlabel column_knob font ",9" offset 0, 0.5 textcolor rgb ink noenhanced
    set label 2 row_knob at screen (left[2] + 6) / width, screen (top[2] - 34) / height left offset 0, -0.2 font ",9" textcolor rgb ink noenhanced
    plot $cells using 1:2:($1 - 0.48):($1 + 0.48):($2 - 0.47):($2 + 0.47):4 with boxxyerror linecolor rgb variable, \
         $cells using ($5 == 1 ? $1 : NaN):2:($1 - 0.46):($1 + 0.46):($2 - 0.44):($2 + 0.44) with boxxyerror linewidth 2.5 linecolor rgb accent fillstyle empty border, \
         $cells using ($6 == 0 ? $1 : NaN):2:7 with labels font ",8.5" textcolor rgb "#050505" noenhanced, \
         $cells using ($6 == 1 ? $1 : NaN):2:7 with labels font ",8.5" textcolor rgb "#fefefe" noenhanced
} else {
    set border 0
    unset tics
    unset xlabel
    set xrange [0 : 1]
    set yrange [0 : 1]
    set label 2 "Fewer than two knobs differ." at screen (left[2] + 20) / width, screen (top[2] - 60) / height left font ",9" textcolor rgb faded
    plot NaN
}
unset label
unset tics

# samples of the fastest
set border 1
set lmargin at screen (left[3] + 14) / width
set rmargin at screen (right[3] - 14) / width
set tmargin at screen (top[3] - 34) / height
set bmargin at screen (top[3] - tall + 44) / height
set label 1 "Fastest configs: samples" at screen (left[3] + 6) / width, screen (top[3] - 14) / height left font ",9.5" textcolor rgb ink
set xrange [box_low : box_high]
set yrange [n_boxes + 0.6 : 0.2]
set xtics autofreq font ",8.5" textcolor rgb ink nomirror scale 0.4
set grid xtics linetype 1 linewidth 1 linecolor rgb faint
set xlabel "µs: least, quartiles; thick: 95 % of the median" font ",9" offset 0, 0.5 textcolor rgb ink
set style fill solid 1.0 noborder
plot $boxes using 2:1:($5 - $2):(0) with vectors nohead linewidth 1.2 linecolor rgb faded, \
     $boxes using 4:1:3:5:($1 - 0.02):($1 + 0.3):8 with boxxyerror linecolor rgb variable, \
     $boxes using ($4 - $6):($1 + 0.14):(2 * $6):(0) with vectors nohead linewidth 4 linecolor rgb ink, \
     $boxes using (box_low):($1 - 0.26):9 with labels left font ",8.5" textcolor rgb ink noenhanced
unset multiplot
