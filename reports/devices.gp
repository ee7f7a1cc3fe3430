# ---- devices.gp: how many times as fast device B is as A, and beside it what their roofs say ----
# $bars: row, ratio, its bounds, state (0 faster or equal, 1 slower, 2 unsteady), label, ratio of the roofs, PyTorch's ratio.
# $rows: row, text.

row(r) = narrow ? 2 * r : r
bar_row(r) = narrow ? 2 * r + 0.75 : r
set yrange [row(n_rows) + (narrow ? 1.4 : 0.7) : (narrow ? 1.3 : 0.3)]
set tmargin at screen 1 - 52.0 / height
set bmargin at screen 34.0 / height
last(a, b) = b > a && b > 1 ? b : a > 1 ? a : 1
inside(x) = x < x_low ? x_low : x > x_high ? x_high : x
set multiplot
set lmargin at screen 0
set rmargin at screen 1
set xrange [0 : width]
unset tics
set label 1 title at screen 8.0 / width, screen 1 - 14.0 / height left font ",9.5" textcolor rgb ink noenhanced
set label 2 legend at screen 8.0 / width, screen 1 - 32.0 / height left font ",9" textcolor rgb faded noenhanced
plot $rows using (8):(row($1)):2 with labels left font ",8.5" textcolor rgb ink noenhanced
unset label
set lmargin at screen label_share + 5.0 / width
set rmargin at screen 1 - 46.0 / width
set logscale x
set xrange [x_low : x_high]
set xtics @tics scale 0 font ",8.5" textcolor rgb faded
set grid xtics linetype 1 linewidth 1 linecolor rgb faint
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linewidth 1.3 linecolor rgb frame back
plot $bars using ($5 == 0 ? inside($2) : NaN):(bar_row($1)):(1):(inside($2)):(bar_row($1) - 0.32):(bar_row($1) + 0.32) with boxxyerror linecolor rgb ours, \
     $bars using ($5 == 1 ? inside($2) : NaN):(bar_row($1)):(1):(inside($2)):(bar_row($1) - 0.32):(bar_row($1) + 0.32) with boxxyerror linecolor rgb accent, \
     $bars using ($5 == 2 ? inside($2) : NaN):(bar_row($1)):(1):(inside($2)):(bar_row($1) - 0.32):(bar_row($1) + 0.32) \
         with boxxyerror fillstyle pattern 4 border linecolor rgb faded, \
     $bars using 3:(bar_row($1)):($4 - $3):(0) with vectors nohead linewidth 1.6 linecolor rgb ink, \
     $bars using 7:(bar_row($1)) with points pointtype 12 pointsize 1.2 linewidth 1.6 linecolor rgb ink, \
     $bars using 8:(bar_row($1)) with points pointtype 1 pointsize 1.6 linewidth 1.8 linecolor rgb ink, \
     $bars using (inside(last($2, last($4, last($7, $8))))):(bar_row($1)):6 with labels left offset 1.2, 0 font ",8.5" textcolor rgb ink noenhanced
unset multiplot
