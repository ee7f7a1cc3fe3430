/* command_help.c: --help, the manual page and the shell completions, all from commands.def. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tuner/commands.h"
#include "tuner/version.h"
#include "ws_tune.h"

static const struct command_text {
    const char *words, *operands, *what, *more, *example;
} commands[] = {
#define COMMAND(id, words, operands, least, most, function, what, more, example)                   \
    {words, operands, what, more, example},
#include "tuner/commands.def"
#undef COMMAND
};

static const struct option_text {
    const char *name, *value, *help;
    int who;
} options[] = {
#define OPTION(kind, name, member, value, who, help) {name, value, help, who},
#include "tuner/commands.def"
#undef OPTION
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static const struct {
    int code;
    const char *what;
} exits[] = {
#define EXIT(code, what) {code, what},
#include "tuner/commands.def"
#undef EXIT
};
enum { N_EXITS = sizeof exits / sizeof *exits };

static const struct {
    const char *name, *what;
} variables[] = {
#define VARIABLE(name, what) {name, what},
#include "tuner/commands.def"
#undef VARIABLE
};
enum { N_VARIABLES = sizeof variables / sizeof *variables };

static const char *dashes(const struct option_text *o) { return o->name[1] ? "--" : "-"; }

static bool takes(int command, int option) { return options[option].who >> command & 1; }

/* ---- --help ---------------------------------------------------------------------------------- */

enum { COLUMNS = 80, WIDEST = 100 };

/* Of the terminal; elsewhere, as in a pipe, those of a narrow one. */
static int columns(void) {
    struct winsize w = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col < COLUMNS) return COLUMNS;
    return w.ws_col < WIDEST ? w.ws_col : WIDEST;
}

/* "  name   what", what beginning in column `at`, and going on there in lines below. */
static void put_entry(struct buf *b, const char *name, int at, const char *what) {
    int pad = at - 2 - (int)strlen(name), width = columns(), column = at;
    buf_printf(b, "  %s%*s", name, pad > 1 ? pad : 1, "");
    for (const char *p = what; *p; p += strspn(p, " ")) {
        int n = (int)strcspn(p, " ");
        if (column > at && column + 1 + n >= width) {
            buf_printf(b, "\n%*s", at, "");
            column = at;
        } else if (column > at) {
            buf_puts(b, " ");
            column++;
        }
        buf_write(b, p, (size_t)n);
        column += n;
        p += n;
    }
    buf_puts(b, "\n");
}

static void put_usage(struct buf *b, int c) {
    const struct command_text *t = &commands[c];
    bool any = false;
    for (int i = 0; i < N_OPTIONS; i++) any |= takes(c, i) && strcmp(options[i].name, "help") != 0;
    buf_printf(b, "usage: warpsmith %s%s%s%s\n", t->words, *t->operands ? " " : "", t->operands,
               any ? " [options]" : "");
}

void command_help(struct buf *b, enum command_number c) {
    put_usage(b, c);
    buf_printf(b, "%s.\n", commands[c].what);
    if (*commands[c].more) buf_printf(b, "\n%s", commands[c].more);
    buf_puts(b, "\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        const struct option_text *o = &options[i];
        if (!takes(c, i)) continue;
        put_entry(
            b,
            arena_printf(b->arena, "%s%s%s%s", dashes(o), o->name, *o->value ? " " : "", o->value),
            26, o->help);
    }
    buf_printf(b, "\nexample: warpsmith %s\n", commands[c].example);
}

void command_list(struct buf *b) {
    buf_puts(b, "usage: warpsmith COMMAND [operands] [options]\n\nCommands; `warpsmith help "
                "COMMAND` says more:\n");
    for (int i = 0; i < N_COMMANDS; i++) put_entry(b, commands[i].words, 16, commands[i].what);
    buf_puts(b,
             "\nOptions may be shortened, and stand anywhere. --version says what this is.\n\nExit "
             "codes:\n");
    for (int i = 0; i < N_EXITS; i++)
        put_entry(b, arena_printf(b->arena, "%d", exits[i].code), 8, exits[i].what);
    buf_puts(b, "\nEnvironment:\n");
    for (int i = 0; i < N_VARIABLES; i++) put_entry(b, variables[i].name, 26, variables[i].what);
    buf_puts(b, "\nexample: warpsmith bench softmax -D dim=8192\n");
}

void command_help_words(struct buf *b, const char *words) {
    size_t n = strlen(words);
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strncmp(commands[i].words, words, n) != 0 || !strchr(" ", commands[i].words[n]))
            continue;
        if (b->n) buf_puts(b, "\n");
        command_help(b, (enum command_number)i);
    }
}

static const char config_text[] =
    "A config says how a kernel is generated: \"x=1 r=4096 warps=8 vec=8\". What it\n"
    "does not name is not done. In --config and in all tables:\n\n";

static void config_help(struct buf *b) {
    buf_puts(b, config_text);
    for (int k = 0; k < KNOB_COUNT; k++)
        put_entry(b, knob_name((enum knob)k), 14, knob_help((enum knob)k));
}

int help_command(const struct command_line *line) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a), asked = buf_new(a);
    for (int i = 0; i < line->operands.n; i++)
        buf_printf(&asked, "%s%s", i ? " " : "", line->operands.at[i]);
    if (asked.n && !strcmp(asked.p, "config"))
        config_help(&b);
    else if (asked.n)
        command_help_words(&b, asked.p);
    else
        command_list(&b);
    int status = b.n ? WS_OK : WS_USAGE;
    if (b.n)
        fputs(b.p, stdout);
    else
        fprintf(stderr, "warpsmith help: no command '%s'; `warpsmith help` lists them\n", asked.p);
    arena_free(a);
    return status;
}

/* ---- the manual page ------------------------------------------------------------------------- */

/* Text of ours as roff: '-' and '\' are escaped, and no line begins with a control character. */
static void put_roff(struct buf *b, const char *s) {
    for (const char *p = s; *p; p++) {
        if ((p == s || p[-1] == '\n') && (*p == '.' || *p == '\'')) buf_puts(b, "\\&");
        if (*p == '-')
            buf_puts(b, "\\-");
        else if (*p == '\\')
            buf_puts(b, "\\e");
        else
            buf_write(b, p, 1);
    }
}

static void put_item(struct buf *b, const char *name, const char *value, const char *what) {
    buf_puts(b, ".TP\n\\fB");
    put_roff(b, name);
    buf_puts(b, "\\fR");
    if (*value) {
        buf_puts(b, " \\fI");
        put_roff(b, value);
        buf_puts(b, "\\fR");
    }
    buf_puts(b, "\n");
    put_roff(b, what);
    buf_puts(b, "\n");
}

int manual_command(const struct command_line *line) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    buf_printf(&b, ".TH WARPSMITH 1 \"\" \"warpsmith %s\" \"User Commands\"\n", WS_VERSION);
    buf_puts(&b,
             ".SH NAME\nwarpsmith \\- tune the kernels of PyTorch files, and measure them\n"
             ".SH SYNOPSIS\n.B warpsmith\n.I COMMAND\n[operands] [options]\n"
             ".SH DESCRIPTION\nwarpsmith captures a plain PyTorch file, fuses its operators into "
             "kernels, generates many variants of each, checks them against a reference, times "
             "them on the device, and keeps the winners.\nOptions may be shortened as long as "
             "that is unambiguous.\n.SH COMMANDS\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        buf_printf(&b, ".SS \"warpsmith %s %s\"\n", commands[c].words, commands[c].operands);
        put_roff(&b, commands[c].what);
        buf_puts(&b, ".\n");
        if (*commands[c].more) {
            buf_puts(&b, ".PP\n.nf\n");
            put_roff(&b, commands[c].more);
            buf_puts(&b, ".fi\n");
        }
        for (int i = 0; i < N_OPTIONS; i++)
            if (takes(c, i))
                put_item(&b, arena_printf(a, "%s%s", dashes(&options[i]), options[i].name),
                         options[i].value, options[i].help);
        buf_puts(&b, ".PP\nExample:\n.B warpsmith ");
        put_roff(&b, commands[c].example);
        buf_puts(&b, "\n");
    }
    buf_puts(&b, ".SH CONFIGS\n");
    put_roff(&b, config_text);
    for (int k = 0; k < KNOB_COUNT; k++)
        put_item(&b, knob_name((enum knob)k), "", knob_help((enum knob)k));
    buf_puts(&b, ".SH EXIT STATUS\n");
    for (int i = 0; i < N_EXITS; i++)
        put_item(&b, arena_printf(a, "%d", exits[i].code), "", exits[i].what);
    buf_puts(&b, ".SH ENVIRONMENT\n");
    for (int i = 0; i < N_VARIABLES; i++) put_item(&b, variables[i].name, "", variables[i].what);
    fputs(b.p, stdout);
    arena_free(a);
    return WS_OK;
}

/* ---- completions ----------------------------------------------------------------------------- */

/* The first word of a command, if it is not that of the one before. */
static const char *new_first_word(int c, struct arena *a) {
    size_t n = strcspn(commands[c].words, " ");
    if (c && !strncmp(commands[c - 1].words, commands[c].words, n) &&
        strchr(" ", commands[c - 1].words[n]))
        return NULL;
    return arena_strndup(a, commands[c].words, n);
}

static const char *first_words(struct arena *a) {
    struct buf b = buf_new(a);
    for (int c = 0; c < N_COMMANDS; c++) {
        const char *word = new_first_word(c, a);
        if (word) buf_printf(&b, "%s%s", b.n ? " " : "", word);
    }
    return b.p;
}

/* Of all commands that begin with `word`: their second words, and their options. */
static const char *words_behind(const char *word, struct arena *a) {
    struct buf b = buf_new(a);
    size_t n = strlen(word);
    int who = 0;
    for (int c = 0; c < N_COMMANDS; c++) {
        const char *words = commands[c].words;
        if (strncmp(words, word, n) != 0 || !strchr(" ", words[n])) continue;
        who |= 1 << c;
        if (words[n]) buf_printf(&b, "%s ", words + n + 1);
    }
    for (int i = 0; i < N_OPTIONS; i++)
        if (options[i].who & who) buf_printf(&b, "%s%s ", dashes(&options[i]), options[i].name);
    return b.p;
}

static void put_bash(struct buf *b) {
    buf_puts(b, "# bash completion of warpsmith; made by `warpsmith completion bash`\n"
                "_warpsmith() {\n    local words\n    case ${COMP_WORDS[1]} in\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        const char *word = new_first_word(c, b->arena);
        if (word) buf_printf(b, "    %s) words='%s' ;;\n", word, words_behind(word, b->arena));
    }
    buf_printf(
        b,
        "    esac\n    if [ \"$COMP_CWORD\" = 1 ]; then words='%s --help --version'; fi\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$2\"; [ \"$COMP_CWORD\" = 1 "
        "] || compgen -f -- \"$2\")\n}\ncomplete -o filenames -F _warpsmith warpsmith\n",
        first_words(b->arena));
}

/* In quotes of the shell, and without what zsh takes for the end of a description. */
static void put_quoted(struct buf *b, const char *s) {
    for (; *s; s++) {
        if (*s == '\'')
            buf_puts(b, "'\\''");
        else if (*s == '[' || *s == ']' || *s == ':')
            buf_printf(b, "\\%c", *s);
        else
            buf_write(b, s, 1);
    }
}

static void put_zsh(struct buf *b) {
    buf_puts(
        b, "#compdef warpsmith\n# zsh completion of warpsmith; made by `warpsmith completion zsh`\n"
           "_warpsmith() {\n    if (( CURRENT == 2 )); then\n        local -a commands=(\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        const char *word = new_first_word(c, b->arena);
        if (!word) continue;
        buf_printf(b, "            '%s:", word);
        put_quoted(b, commands[c].what);
        buf_puts(b, "'\n");
    }
    buf_puts(b, "        )\n        _describe command commands\n        return\n    fi\n"
                "    case $words[2] in\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        if (strchr(commands[c].words, ' ')) continue;
        buf_printf(b, "    %s)\n        _arguments \\\n", commands[c].words);
        for (int i = 0; i < N_OPTIONS; i++) {
            if (!takes(c, i)) continue;
            buf_printf(b, "            '%s%s[", dashes(&options[i]), options[i].name);
            put_quoted(b, options[i].help);
            buf_puts(b, "]");
            if (*options[i].value) {
                buf_puts(b, ":");
                put_quoted(b, options[i].value);
                buf_puts(b, ":_files");
            }
            buf_puts(b, "' \\\n");
        }
        buf_puts(b, "            '*:file:_files' ;;\n");
    }
    buf_printf(b, "    cache) _values command %s ;;\n    esac\n}\n_warpsmith \"$@\"\n",
               words_behind("cache", b->arena));
}

static void put_fish(struct buf *b) {
    buf_puts(b, "# fish completion of warpsmith; made by `warpsmith completion fish`\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        const char *word = new_first_word(c, b->arena);
        const char *second = strchr(commands[c].words, ' ');
        if (word) {
            buf_printf(b, "complete -c warpsmith -n __fish_use_subcommand -f -a %s", word);
            buf_puts(b, " -d '");
            put_quoted(b, second ? "look into what tuning has stored" : commands[c].what);
            buf_puts(b, "'\n");
        }
        const char *first =
            arena_strndup(b->arena, commands[c].words, strcspn(commands[c].words, " "));
        if (second) {
            buf_printf(b, "complete -c warpsmith -n '__fish_seen_subcommand_from %s' -f -a %s -d '",
                       first, second + 1);
            put_quoted(b, commands[c].what);
            buf_puts(b, "'\n");
        }
        for (int i = 0; i < N_OPTIONS; i++) {
            if (!takes(c, i)) continue;
            buf_printf(b, "complete -c warpsmith -n '__fish_seen_subcommand_from %s' -%s %s%s -d '",
                       first, options[i].name[1] ? "l" : "s", options[i].name,
                       *options[i].value ? " -r" : "");
            put_quoted(b, options[i].help);
            buf_puts(b, "'\n");
        }
    }
}

int completion_command(const struct command_line *line) {
    static const struct {
        const char *shell;
        void (*put)(struct buf *b);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    for (int i = 0; i < 3; i++)
        if (!strcmp(shells[i].shell, line->operands.at[0])) shells[i].put(&b);
    if (b.n)
        fputs(b.p, stdout);
    else
        fprintf(stderr, "warpsmith completion: one of bash, zsh, fish, not '%s'\n",
                line->operands.at[0]);
    int status = b.n ? WS_OK : WS_USAGE;
    arena_free(a);
    return status;
}
