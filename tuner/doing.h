/* doing.h: what a long run is at, for whoever reads its log. What takes longer than some seconds is
 * said on stderr meanwhile, so that a run that is ended from outside has told where it was:
 *
 *   computing the reference on the device: 10 s so far */
#ifndef TUNER_DOING_H
#define TUNER_DOING_H

struct doing;

/* Speaks after first_ms of one thing, again after twice that, and so on; a thread of its own. NULL:
 * there is none, and nothing is said. */
struct doing *doing_start(double first_ms);
void doing_stop(struct doing *d); /* d may be NULL, below too */

/* From now on it is at this; "": at nothing that is worth a line. */
void doing_what(struct doing *d, const char *what);

#endif
