/* neighbours.c: import of files that lie beside the one that is run.
 *
 *   models/nets/__init__.py                  import: the root is the folder above the package
 *   models/nets/vit.py     <- is run           from .blocks import Mlp     models/nets/blocks.py
 *   models/nets/blocks.py                      from ..data import sizes    not there: past the root
 *   models/data.py                             import data                 models/data.py
 *
 * Where the file is in no package, its own folder is the root; in one, files beside it are found
 * without the package's name, too, as Python finds those beside a script; last comes what the
 * program has put into sys.path, from the folder that it was started in. A file is one module,
 * whatever names it is imported by. A package's __init__.py does not run when a part of it is
 * imported, as Python has it, nor for a name that it has from one of its parts by an import:
 * public packages import all that they have there. It runs when something else of it is asked
 * for. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/private.h"
#include "capture/vm.h"

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *in_folder(const struct vm *vm, const char *folder, const char *name) {
    return strcmp(folder, ".") ? arena_printf(vm->home, "%s/%s", folder, name)
                               : arena_strdup(vm->home, name);
}

static const char *folder_of(const struct vm *vm, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    return slash == path ? "/" : arena_strndup(vm->home, path, (size_t)(slash - path));
}

static bool is_package(const struct vm *vm, const char *folder) {
    return is_file(in_folder(vm, folder, "__init__.py"));
}

/* The file of what a module's name stands for in the folder, of a package its __init__.py; NULL:
 * there is none. */
static const char *file_of(const struct vm *vm, const char *folder, const char *name,
                           bool *package) {
    const char *below = in_folder(vm, folder, name);
    const char *init = arena_printf(vm->home, "%s/__init__.py", below);
    const char *file = arena_printf(vm->home, "%s.py", below);
    *package = is_file(init);
    return *package ? init : is_file(file) ? file : NULL;
}

static void enter_sys_modules(struct vm *vm, struct module *m) {
    struct py all;
    if (dict_gets(module_import(vm, "sys")->dict, "modules", &all))
        dict_puts(vm->home, all.dict, m->name, py_pointer(PY_MODULE, m));
}

/* A file in a package is known by where it is from the root on. */
void neighbours_open(struct vm *vm) {
    char real[PATH_MAX];
    vm->file_codes = map_new(vm->home);
    enter_sys_modules(vm, vm->main);
    const char *folder = folder_of(vm, vm->file->path);
    if (is_package(vm, folder) && realpath(folder, real)) folder = arena_strdup(vm->home, real);
    vm->main->folder = vm->root = folder;
    while (is_package(vm, vm->root) && strcmp(vm->root, folder_of(vm, vm->root)) != 0)
        vm->root = folder_of(vm, vm->root);
}

/* A script has its user's rights: what is imported has to be the user's, too. */
static void need_own(struct vm *vm, const char *path) {
    const char *why = vm->eager ? path_exposed(path, vm->arena) : NULL;
    if (why) vm_refuse(vm, "a script imports no file that is not its user's own: %s", why);
}

static const struct source *text_at(struct vm *vm, const char *path) {
    const struct source *text = source_read(vm->home, path, vm->diag);
    if (!text) vm_leave(vm);
    return text;
}

/* A file is compiled once, be it to be run or to be looked through. text: NULL: it is read. */
static const struct code *code_at(struct vm *vm, const char *path, const struct source *text) {
    uint64_t known;
    if (map_gets(&vm->file_codes, path, &known)) return (const struct code *)(uintptr_t)known;
    const struct code *c = module_compile(vm, text ? text : text_at(vm, path));
    map_puts(&vm->file_codes, arena_strdup(vm->home, path), (uint64_t)(uintptr_t)c);
    return c;
}

/* Has an exception left its body? Then Python forgets it, and the next import runs it again. */
static bool is_abandoned(const struct vm *vm, const struct module *m) {
    const struct frame *f = vm->frame;
    while (m->body && f && f->code != m->body) f = f->caller;
    return m->body && !f;
}

static struct module *file_module(struct vm *vm, const char *path, const char *name,
                                  const char *folder, bool package) {
    uint64_t known;
    const char *key = arena_printf(vm->home, "file %s", path);
    if (map_gets(&vm->modules, key, &known) && !is_abandoned(vm, (struct module *)(uintptr_t)known))
        return (struct module *)(uintptr_t)known;
    need_own(vm, path);
    struct module *m = NEW(vm->home, struct module);
    *m = (struct module){.name = arena_strdup(vm->home, name),
                         .dict = dict_new(vm->home),
                         .folder = folder,
                         .package = package};
    map_puts(&vm->modules, key, (uint64_t)(uintptr_t)m);
    dict_puts(vm->home, m->dict, "__name__", py_str(m->name));
    enter_sys_modules(vm, m);
    if (!is_file(path)) return m; /* a folder without __init__.py */
    dict_puts(vm->home, m->dict, "__file__", py_str(path));
    if (package) {
        m->begin = text_at(vm, path);
        vm->passed_package |= !vm->whole_packages;
        if (vm->whole_packages) neighbour_begin(vm, m);
    } else {
        m->body = code_at(vm, path, NULL);
        module_run(vm, m, m->body);
        m->body = NULL;
    }
    return m;
}

/* The file or folder of that name in the folder; NULL: there is none. */
static struct module *open_in(struct vm *vm, const char *folder, const char *name,
                              const char *dotted) {
    const char *below = in_folder(vm, folder, name);
    bool package;
    const char *file = file_of(vm, folder, name, &package);
    if (file) return file_module(vm, file, dotted, package ? below : folder, package);
    return is_folder(below) ? file_module(vm, below, dotted, below, true) : NULL;
}

static bool is_within(const char *folder, const char *outer) {
    size_t n = strlen(outer);
    if (!strcmp(outer, ".")) return folder[0] != '/';
    return !strncmp(folder, outer, n) && (!folder[n] || folder[n] == '/' || outer[n - 1] == '/');
}

/* "nets.vit" of root/nets, "vit"; outside of the root the name alone */
static const char *dotted_name(const struct vm *vm, const char *folder, const char *name) {
    size_t n = strlen(vm->root);
    if (!strcmp(folder, vm->root) || !is_within(folder, vm->root)) return name;
    const char *rest = strcmp(vm->root, ".") ? folder + n + (vm->root[n - 1] != '/') : folder;
    char *dotted = arena_printf(vm->home, "%s.%s", rest, name);
    for (char *p = dotted; *p; p++)
        if (*p == '/') *p = '.';
    return dotted;
}

static struct module *walk(struct vm *vm, const char *folder, const char *name) {
    struct module *m = NULL;
    for (const char *rest = name; *rest; rest += *rest == '.') {
        const char *part = arena_strndup(vm->home, rest, strcspn(rest, "."));
        struct module *parent = m;
        if (parent && !parent->package) return NULL;
        if (parent) folder = parent->folder;
        m = open_in(vm, folder, part, dotted_name(vm, folder, part));
        if (!m) return NULL;
        if (parent) dict_puts(vm->home, parent->dict, part, py_pointer(PY_MODULE, m));
        rest += strlen(part);
    }
    return m;
}

/* The package whose folder it is. */
static struct module *package_of(struct vm *vm, const char *folder) {
    const char *slash = strrchr(folder, '/'), *leaf = slash ? slash + 1 : folder;
    if (!strcmp(folder, vm->root)) return NULL;
    return open_in(vm, folder_of(vm, folder), leaf, dotted_name(vm, folder_of(vm, folder), leaf));
}

static struct module *import_relative(struct vm *vm, const struct module *from, const char *name) {
    size_t dots = strspn(name, ".");
    const char *folder = from->folder;
    for (size_t i = 1; i < dots; i++) {
        if (!strcmp(folder, vm->root))
            vm_raise(vm, EXC_ImportError,
                     "attempted relative import beyond top-level package: '%s'", name);
        folder = folder_of(vm, folder);
    }
    if (name[dots]) return walk(vm, folder, name + dots);
    struct module *m = package_of(vm, folder);
    if (m || strcmp(folder, vm->root) != 0) return m;
    return file_module(vm, folder, ".", folder, true); /* from . import x, outside of a package */
}

/* A folder as paths below the root begin, so that a file has one name; NULL: there is none. */
static const char *known_folder(const struct vm *vm, const char *folder) {
    char real[PATH_MAX], root[PATH_MAX];
    if (!realpath(folder, real) || !realpath(vm->root, root)) return NULL;
    if (!is_within(real, root)) return arena_strdup(vm->home, real);
    const char *rest = real + strlen(root) + (real[strlen(root)] == '/');
    return *rest ? in_folder(vm, vm->root, rest) : vm->root;
}

static struct module *import_by_sys_path(struct vm *vm, const char *name) {
    struct py path;
    struct module *m = NULL;
    if (!dict_gets(module_import(vm, "sys")->dict, "path", &path) || path.kind != PY_LIST)
        return NULL;
    for (uint32_t i = 0; i < path.list->n && !m; i++) {
        struct py at = path.list->at[i];
        const char *folder = at.kind == PY_STR ? known_folder(vm, at.s) : NULL;
        if (folder) m = walk(vm, folder, name);
    }
    return m;
}

struct module *neighbour_import(struct vm *vm, const struct module *from, const char *name) {
    if (!from->folder) return NULL;
    if (name[0] == '.') return import_relative(vm, from, name);
    struct module *m = walk(vm, vm->root, name);
    if (!m) m = walk(vm, vm->main->folder, name);
    return m ? m : import_by_sys_path(vm, name);
}

/* -- names of a package ---------------------------------------------------------------------- */

/* How a file binds a name in its body, which is not run for that. */
struct binding {
    uint32_t count;     /* how often */
    const char *module; /* from module import original; NULL: in another way, or by an `import *` */
    const char *original;
};

/* The file of a module that is named relatively from a folder; *folder becomes its own. */
static const char *path_of(const struct vm *vm, const char **folder, const char *name) {
    size_t dots = strspn(name, ".");
    for (size_t i = 1; i < dots; i++) *folder = folder_of(vm, *folder);
    char *rest = arena_strdup(vm->home, name + dots);
    for (char *p = rest; *p; p++)
        if (*p == '.') *p = '/';
    bool package;
    const char *file = file_of(vm, *folder, rest, &package);
    if (file) *folder = folder_of(vm, file);
    return file;
}

/* Is it the package itself that the module's name says? A part that imports a name from its package
 * has nothing else by that name. */
static bool names_package(const char *folder, const char *module) {
    if (!strcmp(module, ".")) return true;
    size_t n = strlen(module), all = strlen(folder);
    if (module[0] == '.' || n > all || (n < all && folder[all - n - 1] != '/')) return false;
    for (size_t i = 0; i < n; i++)
        if (folder[all - n + i] != (module[i] == '.' ? '/' : module[i])) return false;
    return true;
}

/* enough: deeper chains of `import *` are run */
static struct binding binding_of(struct vm *vm, const struct code *c, const char *folder,
                                 const char *name, int enough) {
    struct binding b = {0};
    const char *module = NULL;
    for (uint32_t i = 0; i < c->n_instrs; i++) {
        const struct instr *in = &c->instrs[i];
        if (in->op == OP_IMPORT_NAME) module = c->names.at[in->a];
        if (in->op == OP_STORE_NAME && !strcmp(c->names.at[in->a], name)) {
            bool from = i && in[-1].op == OP_IMPORT_FROM;
            b = (struct binding){.count = b.count + 1,
                                 .module = from ? module : NULL,
                                 .original = from ? c->names.at[in[-1].a] : NULL};
        }
        if (in->op != OP_IMPORT_STAR || name[0] == '_') continue;
        const char *below = folder, *file = module[0] == '.' ? path_of(vm, &below, module) : NULL;
        if (!file || !enough) return (struct binding){.count = 2};
        struct binding own = binding_of(vm, code_at(vm, file, NULL), below, name, enough - 1);
        bool back = own.module && !strcmp(below, folder) && !strcmp(own.original, name) &&
                    names_package(folder, own.module);
        if (!own.count || back) continue;
        b = (struct binding){b.count + 1, module, name};
    }
    return b;
}

static struct binding own_binding(struct vm *vm, const struct module *m, const char *name,
                                  int enough) {
    return binding_of(vm, code_at(vm, m->begin->path, m->begin), m->folder, name, enough);
}

static bool find_part(struct vm *vm, struct module *m, const char *name, struct py *out) {
    struct module *part = open_in(vm, m->folder, name, dotted_name(vm, m->folder, name));
    if (!part) return false;
    *out = py_pointer(PY_MODULE, part);
    dict_puts(vm->home, m->dict, name, *out);
    return true;
}

/* Does the name lead into the package: `.box`, or `gym.spaces.box` in gym/spaces/__init__.py? */
static bool leads_into(struct vm *vm, const char *folder, const char *module) {
    if (module[0] == '.') return true;
    const char *dot = strchr(module, '.');
    for (; dot; dot = strchr(dot + 1, '.'))
        if (names_package(folder, arena_strndup(vm->arena, module, (size_t)(dot - module))))
            return true;
    return false;
}

/* The one file that __init__.py has that name from, by which it need not be run. */
static bool find_export(struct vm *vm, struct module *m, const char *name, struct py *out) {
    enum { ENOUGH = 8 };
    struct binding b = own_binding(vm, m, name, ENOUGH);
    if (b.count != 1 || !b.module || !leads_into(vm, m->folder, b.module)) return false;
    struct module *from = neighbour_import(vm, m, b.module);
    if (from == m) return find_part(vm, m, b.original, out); /* from . import part */
    if (!from || !neighbour_find(vm, from, b.original, out)) return false;
    dict_puts(vm->home, m->dict, name, *out);
    return true;
}

static bool may_define(struct vm *vm, const struct module *m, const char *name) {
    return m->begin && own_binding(vm, m, name, 1).count;
}

/* Is its own code what asks? Then a part of the package is meant by a part's name: under Python
 * __init__.py would be running now, and not have come to what it makes of that name. */
static bool asks_itself(const struct vm *vm, const struct module *m) {
    const char *from = vm->frame ? vm->frame->module->folder : NULL;
    size_t n = strlen(m->folder);
    return from && !strncmp(from, m->folder, n) && (!from[n] || from[n] == '/');
}

void neighbour_begin(struct vm *vm, struct module *m) {
    const struct source *text = m->begin;
    m->begin = NULL;
    if (text) module_run(vm, m, code_at(vm, text->path, text));
}

bool neighbour_find(struct vm *vm, struct module *m, const char *name, struct py *out) {
    if (dict_gets(m->dict, name, out)) return true;
    bool known = m->begin && !asks_itself(vm, m) && may_define(vm, m, name);
    if (known && find_export(vm, m, name, out)) return true;
    if (known) neighbour_begin(vm, m);
    if (dict_gets(m->dict, name, out)) return true;
    if (m->package && find_part(vm, m, name, out)) return true;
    if (m->begin && find_export(vm, m, name, out)) return true;
    if (m->begin && asks_itself(vm, m) && !may_define(vm, m, name) &&
        !may_define(vm, m, "__getattr__"))
        return false; /* a part looks for one that is not there; __init__.py needs that very part */
    neighbour_begin(vm, m);
    if (dict_gets(m->dict, name, out)) return true;
    struct py get;
    if (!dict_gets(m->dict, "__getattr__", &get)) return false;
    return *out = vm_call1(vm, get, py_str(name)), true;
}
