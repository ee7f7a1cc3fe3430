/* cache_command.h: `warpsmith cache`: look into the store, clean it, carry it to another machine.
 */
#ifndef TUNER_CACHE_COMMAND_H
#define TUNER_CACHE_COMMAND_H

/* argv[0] is "cache". Returns the exit code. */
int cache_command(int argc, char **argv);

#endif
