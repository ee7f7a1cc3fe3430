# ---- speedup.gp: how many times as fast the tuned program is: a column for each opponent, a row for each case ----
# $bars: column, row, ratio, its bounds, state (0 faster or equal, 1 slower, 2 unsteady), colour, label, line. $rows: row, kind (0 a
# workload's name, 1 a case), text, line. On a small screen a row's text stands in the line above its bars.

bar_row(r, line) = narrow ? line + 0.9 : r
set yrange [narrow ? n_lines + 0.6 : n_rows + 0.7 : 0.3]
# Three columns are what a small screen has room for: the others follow below, in bands.
in_band = narrow && n_columns > 3 ? 3 : n_columns
n_bands = (n_columns + in_band - 1) / in_band
band = height / n_bands
share = (0.99 - label_share) / in_band
room = label_width * 1.0 / (share * width)
inside(x) = x < x_low ? x_low : x > x_high ? x_high : x

set multiplot
do for [b = 0:n_bands - 1] {
    set tmargin at screen 1 - (b * band + 40) / height
    set bmargin at screen 1 - ((b + 1) * band - 34) / height
    set lmargin at screen 0
    set rmargin at screen 1
    set xrange [0 : width]
    unset tics
    plot $rows using (narrow ? 8 : 12):($2 == 0 ? (narrow ? $4 : $1) : NaN):3 with labels left font ",9.5" textcolor rgb ink noenhanced, \
         $rows using (narrow ? 8 : 22):($2 == 1 ? (narrow ? $4 : $1) : NaN):3 with labels left font ",9" textcolor rgb faded noenhanced
}
set logscale x
do for [c = 1:n_columns] {
    b = (c - 1) / in_band
    place = c - 1 - b * in_band
    set tmargin at screen 1 - (b * band + 40) / height
    set bmargin at screen 1 - ((b + 1) * band - 34) / height
    set lmargin at screen label_share + share * place + 5.0 / width
    set rmargin at screen label_share + share * (place + 1) - 5.0 / width
    x_low = word(x_lows, c) + 0.0
    x_high = word(x_highs, c) + 0.0
    set xrange [x_low : exp(log(x_high) + log(x_high / x_low) * room / (1 - room))]
    eval "set xtics (" . word(tics, c) . ") scale 0 font ',8.5' textcolor rgb faded"
    if (!narrow) {
        set grid xtics linetype 1 linewidth 1 linecolor rgb faint
    }
    set label 1 word(opponents, c) at graph 0, screen 1 - (b * band + 20) / height left noenhanced font ",9.5" textcolor rgb ink
    if (!narrow) {
        set arrow 1 from 1, graph 0 to 1, graph 1 nohead linewidth 1.3 linecolor rgb frame back
    }
    set style fill solid 1.0 noborder
    plot $bars using ($1 == c && narrow ? 1 : NaN):(bar_row($2, $9) - 0.5):(0):(1) with vectors nohead linewidth 1.3 linecolor rgb frame, \
         $bars using ($1 == c && $6 != 2 ? inside($3) : NaN):(bar_row($2, $9)):(1):(inside($3)):(bar_row($2, $9) - bar):(bar_row($2, $9) + bar):7 \
             with boxxyerror linecolor rgb variable, \
         $bars using ($1 == c && $6 == 2 ? inside($3) : NaN):(bar_row($2, $9)):(1):(inside($3)):(bar_row($2, $9) - bar):(bar_row($2, $9) + bar) \
             with boxxyerror fillstyle pattern 4 border linecolor rgb faded, \
         $bars using ($1 == c ? inside($4) : NaN):(bar_row($2, $9)):(inside($5) - inside($4)):(0) with vectors nohead linewidth 1.6 linecolor rgb ink, \
         $bars using ($1 == c ? inside($5 > $3 ? ($5 > 1 ? $5 : 1) : ($3 > 1 ? $3 : 1)) : NaN):(bar_row($2, $9)):8 \
             with labels left offset 0.5, 0 font ",8.5" textcolor rgb ink noenhanced
    unset label 1
}
unset multiplot
