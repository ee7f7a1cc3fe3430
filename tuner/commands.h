/* commands.h: the commands of main.c's table that the tuner itself has. argv[0] is the command's
 * name; each returns the exit code. */
#ifndef TUNER_COMMANDS_H
#define TUNER_COMMANDS_H

int bench_command(int argc, char **argv);
int run_command(int argc, char **argv);
int explain_command(int argc, char **argv);
int compile_command(int argc, char **argv);
int ops_command(int argc, char **argv);

#endif
