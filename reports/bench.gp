# ---- bench.gp: one benchmark. Left: its kernel variants, fastest first. Right: unfused, default, tuned and PyTorch. ----

set border 1
set multiplot
set label 1 title at screen 0.012, screen 1 - 24.0 / height left noenhanced font ",15" textcolor rgb ink
set label 2 subtitle at screen 0.012, screen 1 - 46.0 / height left noenhanced font ",10.5" textcolor rgb faded
set label 6 subtitle2 at screen 0.012, screen 1 - 64.0 / height left noenhanced font ",10.5" textcolor rgb faded

top = 1 - 130.0 / height
bottom = 74.0 / height

# ---- variants ----
if (n_variants > 0) {
    set lmargin at screen label_share
    set rmargin at screen split - 0.045
    set tmargin at screen top
    set bmargin at screen bottom
    set label 3 left_title at screen 0.012, screen top + 34.0 / height left noenhanced font ",12" textcolor rgb ink
    set xrange [0 : variants_max * 1.13]
    set yrange [n_variants + 0.6 : 0.4]
    if (common ne "") {
        set label 5 "all: " . common at screen 0.012, screen 10.0 / height left noenhanced font ",9" textcolor rgb faded
    }
    if (winner_note ne "") {
        set label 7 winner_note at screen split - 0.045, screen 10.0 / height right noenhanced font ",9" textcolor rgb faded
    }
    set xlabel "kernel time, median in µs; whisker: quartiles" textcolor rgb ink font ",10.5"
    set xtics autofreq font ",10"
    set grid xtics linetype 1 linewidth 1 linecolor rgb faint
    set ytics font ",9.5" noenhanced scale 0
    if (variants_floor > 0) {
        set arrow 1 from variants_floor, graph 0 to variants_floor, graph 1 nohead dashtype 2 linewidth 1.4 linecolor rgb accent front
        set label 4 "roofline floor " . floor_text at variants_floor, graph 1 center offset 0, 0.7 \
            font ",9.5" textcolor rgb accent
    }
    plot $variants using (0):1:(0):2:($1 - 0.36):($1 + 0.36):5:ytic(6) with boxxyerror linecolor rgb variable, \
         $variants using 3:1:($4 - $3):(0) with vectors nohead linewidth 1.3 linecolor rgb ink, \
         $variants using ($4 > $2 ? $4 : $2):1:7 with labels left offset 0.6, 0 font ",9.5" textcolor rgb ink noenhanced
    unset label
    unset arrow
}

# ---- programs ----
# (the titles are drawn once: by the left panel if there is one)
set lmargin at screen split + 0.05
set rmargin at screen 0.985
set tmargin at screen top
set bmargin at screen bottom + 14.0 / height
set label 3 right_title at screen split, screen top + 34.0 / height left noenhanced font ",12" textcolor rgb ink
set xrange [0.4 : programs_last + 0.6]
set yrange [0 : programs_max * 1.16]
unset xlabel
set ylabel programs_axis textcolor rgb ink font ",10.5" offset 0.5, 0
set ytics autofreq font ",10" scale 0
set grid noxtics ytics linetype 1 linewidth 1 linecolor rgb faint
set xtics () font ",10" scale 0 noenhanced
if (programs_floor > 0) {
    set arrow 1 from graph 0, first programs_floor to graph 1, first programs_floor nohead dashtype 2 linewidth 1.4 linecolor rgb accent front
    set label 4 "dashed: roofline floor" at screen 0.985, screen top + 14.0 / height right font ",9" textcolor rgb accent
}
do for [i = 1:words(legend)] {
    x = split + 0.05 + 0.08 * (i - 1)
    set arrow 10 + i from screen x, screen top + 14.0 / height to screen x + 12.0 / width, screen top + 14.0 / height nohead linewidth 8 \
        linecolor rgb word(legend_colours, i)
    set label 10 + i word(legend, i) at screen x + 17.0 / width, screen top + 14.0 / height left noenhanced font ",10" textcolor rgb ink
}
set label 9 parts_note at screen split, screen top + 14.0 / height left noenhanced font ",10" textcolor rgb faded
if (n_lines > 0) {
    set logscale x
    set xrange [size_low : size_high]
    set xtics @sizes scale 0.4
    set xlabel size_axis font ",10.5" textcolor rgb ink noenhanced
    array shape[3] = [5, 7, 9]
    plot for [k = 1:n_lines] $lines index k - 1 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1.3 linecolor rgb word(legend_colours, k), \
         for [k = 1:n_lines] $lines index k - 1 using 1:2 with linespoints linewidth 2 pointtype shape[k] pointsize 0.9 \
             linecolor rgb word(legend_colours, k)
} else {
    limit = programs_max * 1.12
    shown(y) = y > limit ? limit : y
    plot $programs using 1:($8 == 0 ? $2 : NaN):(bar_width):3 with boxes linecolor rgb variable, \
         $programs using 1:($8 != 0 ? shown($2) : NaN):(bar_width) with boxes fillstyle pattern 4 border linecolor rgb faded, \
         $parts using ($1 - 0.5 * bar_width):2:(bar_width):(0) with vectors nohead linewidth 1.2 linecolor rgb "white", \
         $parts using 1:3:4 with labels font ",8.5" textcolor rgb "white" noenhanced, \
         $programs using 1:(shown($6)):(0):(shown($7) - shown($6)) with vectors nohead linewidth 1.3 linecolor rgb ink, \
         $programs using 1:(shown($7)):4 with labels offset 0, 1.7 font ",12" textcolor rgb ink noenhanced, \
         $programs using 1:(shown($7)):5 with labels offset 0, 0.7 font ",9.5" textcolor rgb faded noenhanced, \
         $ticks using 1:(0):xtic(2) with points pointtype -1, \
         $ticks using 1:(0):3 with labels offset 0, -2.1 font ",8.5" textcolor rgb faded noenhanced
}
unset multiplot
