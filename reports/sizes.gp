# ---- sizes.gp: lines over the size of a sweep: bandwidth, arithmetic, and how many times as fast ----
# $lines: blocks of one way to run it each: size, GB/s with its bounds, TFLOP/s with its bounds. panels: which columns, in order.

set multiplot
cell = narrow ? 1.0 : 1.0 / n_panels
tall = (height - legend_height) / (narrow ? n_panels : 1)
set logscale x
set xrange [x_low : x_high]
set border 3
array shape[5] = [7, 5, 9, 13, 11]
do for [p = 1:n_panels] {
    top = height - legend_height - (narrow ? tall * (p - 1) : 0)
    set lmargin at screen (narrow ? 0 : cell * (p - 1)) + 56.0 / width
    set rmargin at screen (narrow ? 0 : cell * (p - 1)) + cell - 14.0 / width
    set tmargin at screen (top - 26) / height
    set bmargin at screen (top - tall + 44) / height
    c = word(panels, p) + 0
    set label 1 word(panel_names, p) at graph 0, graph 1 left offset 0, 0.9 font ",9.5" textcolor rgb ink noenhanced
    set xlabel axis_name font ",9" textcolor rgb ink offset 0, 0.4 noenhanced
    set xtics @tics scale 0.4 font ",8.5" rotate by 0
    set ytics font ",8.5"
    set yrange [0 : word(panel_highs, p) * 1.08]
    set grid ytics linetype 1 linewidth 1 linecolor rgb faint
    unset arrow 1
    unset label 2
    if (word(panel_roofs, p) > 0) {
        set arrow 1 from graph 0, first word(panel_roofs, p) to graph 1, first word(panel_roofs, p) nohead dashtype 2 linewidth 1.4 linecolor rgb accent
        set label 2 "roof" at graph 1, first word(panel_roofs, p) right offset -0.3, 0.5 font ",8.5" textcolor rgb accent
    }
    plot for [k = 1:n_lines] $lines index k - 1 using 1:(column(c)):(column(c + 1)):(column(c + 2)) with yerrorbars pointtype -1 linewidth 1.2 \
             linecolor rgb word(line_colours, k), \
         for [k = 1:n_lines] $lines index k - 1 using 1:(column(c)) with linespoints linewidth 1.8 pointtype shape[(k - 1) % 5 + 1] pointsize 0.8 \
             linecolor rgb word(line_colours, k)
    unset label 1
}
set lmargin at screen 0
set rmargin at screen 1
set tmargin at screen 1
set bmargin at screen 0
unset logscale
unset tics
unset grid
unset arrow
unset label
unset xlabel
set border 0
set xrange [0 : width]
set yrange [0 : height]
legend = narrow ? "$legend_narrow" : "$legend_wide"
plot for [k = 1:n_lines] @legend index k - 1 using 1:(height - 12 + $2) with linespoints linewidth 1.8 pointtype shape[(k - 1) % 5 + 1] pointsize 0.8 \
         linecolor rgb word(line_colours, k), \
     @legend using ($3 == 1 ? $1 + 8 : NaN):(height - 12 + $2):4 with labels left font ",9" textcolor rgb ink noenhanced
unset multiplot
