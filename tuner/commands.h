/* commands.h: what commands.def calls. Each returns the exit code. */
#ifndef TUNER_COMMANDS_H
#define TUNER_COMMANDS_H

#include "tuner/command_line.h"

#define COMMAND(id, words, operands, least, most, function, ...) command_function function;
#include "tuner/commands.def"
#undef COMMAND

#endif
