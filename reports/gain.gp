# ---- gain.gp: what tuning cost against what it gained over the default config ----
# $points: seconds, ratio, bounds of it, shape, colour. $numbers: where, text; the list is as in roofline.gp.

set tmargin at screen 1 - 34.0 / height
set bmargin at screen (below + 48.0) / height
set lmargin at screen 48.0 / width
set rmargin at screen 1 - 16.0 / width
set border 3
set logscale x
set format x "%g"
set xrange [x_min : x_max]
set yrange [y_min : y_max]
set xtics @tics font ",9"
set ytics font ",9"
set xlabel "seconds that tuning took" font ",9" textcolor rgb ink offset 0, 0.3
set label 1 "times as fast as the default config" at screen 8.0 / width, screen 1 - 16.0 / height left font ",9" textcolor rgb ink
set grid xtics ytics linetype 1 linewidth 1 linecolor rgb faint
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead linewidth 1.3 linecolor rgb frame back
do for [i = 1:n_list] {
    set label 100 + i word(list_texts, i) at screen (14.0 + list_width * word(list_columns, i)) / width, \
        screen (below - 4 - 15.0 * word(list_lines, i)) / height left font ",8.5" textcolor rgb ink noenhanced
}
numbers = narrow ? "$numbers_narrow" : "$numbers_wide"
plot $points using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1.2 linecolor rgb faded, \
     $points using 1:2:(1.1):5:6 with points pointsize variable pointtype variable linewidth 1.4 linecolor rgb variable, \
     @numbers using 1:2:3 with labels center font ",8" textcolor rgb ink noenhanced
