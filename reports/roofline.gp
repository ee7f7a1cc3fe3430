# ---- roofline.gp: what the programs achieve against what devices allow: copy bandwidth, and peak of their type ----
# $roofs: blocks of two or three points. $points: intensity, GFLOP/s, shape, colour, hollow. $numbers: where, text.
# $list: column, line, text: which program each number is.

set tmargin at screen 1 - (20.0 + 16 * roof_lines) / height
set bmargin at screen (below + 48.0) / height
set lmargin at screen 58.0 / width
set rmargin at screen 1 - 16.0 / width
set border 3
set logscale xy
set format x "%g"
set format y "%.0s%c"
set xrange [x_min : x_max]
set yrange [y_min : y_max]
set xtics @x_tics font ",9"
set ytics font ",9"
set xlabel "arithmetic intensity: FLOP for each byte that must move" font ",9" textcolor rgb ink offset 0, 0.3
set label 1 "GFLOP/s" at screen 8.0 / width, graph 1 left offset 0, 0.8 font ",9" textcolor rgb ink
set grid xtics ytics linetype 1 linewidth 1 linecolor rgb faint
do for [r = 1:n_roofs] {
    set label 10 + r word(roof_names, r) at screen 92.0 / width, screen 1 - (8.0 + 16 * r) / height left font ",9" textcolor rgb ink noenhanced
    set arrow 10 + r from screen 62.0 / width, screen 1 - (8.0 + 16 * r) / height to screen 86.0 / width, screen 1 - (8.0 + 16 * r) / height \
        nohead linewidth 2 dashtype 1 + (r - 1) % 4 linecolor rgb word(roof_colours, r)
}
do for [i = 1:n_list] {
    set label 100 + i word(list_texts, i) at screen (14.0 + list_width * word(list_columns, i)) / width, \
        screen (below - 4 - 15.0 * word(list_lines, i)) / height left font ",8.5" textcolor rgb ink noenhanced
}
numbers = narrow ? "$numbers_narrow" : "$numbers_wide"
plot for [r = 1:n_roofs] $roofs index r - 1 using 1:2 with lines linewidth 2 dashtype 1 + (r - 1) % 4 linecolor rgb word(roof_colours, r), \
     $points using 1:2:(1.1):3:4 with points pointsize variable pointtype variable linewidth 1.4 linecolor rgb variable, \
     @numbers using 1:2:3 with labels center font ",8" textcolor rgb ink noenhanced
