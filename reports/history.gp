# ---- history.gp: the tuned program's time by night, with what else changed ----
# $runs: time, us, its bounds, state (0 steady, 1 unsteady, 2 implausible). event_times, event_texts: another driver or compiler;
# change_times, change_texts: another level.

set border 3
set tmargin at screen 1 - 40.0 / height
set bmargin at screen 44.0 / height
set lmargin at screen 58.0 / width
set rmargin at screen 1 - 44.0 / width
set xdata time
set timefmt "%Y-%m-%dT%H:%M:%SZ"
set format x "%Y-%m-%d"
set xrange [first_time : last_time]
set yrange [us_low : us_high]
set xtics @time_tics font ",9"
set ytics font ",9"
set grid ytics linetype 1 linewidth 1 linecolor rgb faint
set label 1 "µs, median of each run" at screen 8.0 / width, screen 1 - 14.0 / height left font ",9" textcolor rgb ink
seconds(t) = strptime("%Y-%m-%dT%H:%M:%SZ", t)
# Names stand on the side that has room.
early(t) = seconds(t) - seconds(first_time) < 0.6 * (seconds(last_time) - seconds(first_time))
do for [i = 1:n_events] {
    set arrow 10 + i from word(event_times, i), graph 0 to word(event_times, i), graph 1 nohead dashtype 3 linewidth 1.3 linecolor rgb faded
    set label 10 + i word(event_texts, i) at word(event_times, i), graph 1 font ",8.5" textcolor rgb faded noenhanced
    if (early(word(event_times, i))) { set label 10 + i left offset 0.4, -0.6 - (i - 1) % 3 }
    else { set label 10 + i right offset -0.4, -0.6 - (i - 1) % 3 }
}
do for [i = 1:n_changes] {
    set arrow 50 + i from word(change_times, i), graph 0 to word(change_times, i), graph 1 nohead linewidth 1.8 linecolor rgb accent back
    set label 50 + i word(change_texts, i) at word(change_times, i), graph 0 font ",9" textcolor rgb accent noenhanced
    if (early(word(change_times, i))) { set label 50 + i left offset 0.4, 0.8 + (i - 1) % 3 }
    else { set label 50 + i right offset -0.4, 0.8 + (i - 1) % 3 }
}
plot $runs using 1:($5 == 0 ? $2 : NaN):3:4 with yerrorbars pointtype 7 pointsize 0.6 linewidth 1.1 linecolor rgb ours, \
     $runs using 1:($5 == 1 ? $2 : NaN):3:4 with yerrorbars pointtype 6 pointsize 0.9 linewidth 1.1 linecolor rgb faded, \
     $runs using 1:($5 == 2 ? $2 : NaN) with points pointtype 2 pointsize 1.1 linewidth 1.6 linecolor rgb accent, \
     $runs using 1:2 with lines linewidth 1 linecolor rgb ours
