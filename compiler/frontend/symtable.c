/* symtable.c: which variable a name means.
 *
 *     def f(x):            f: x PARAM CELL, g BOUND
 *         def g():         g: x FREE, y READ (global, since no function around it binds y)
 *             return x + y
 *
 * Two steps, as in CPython: walk the tree and note in each scope how its names are used; then,
 * scope by scope, look for every name that is read but not bound in the functions around it. Class
 * bodies are not looked into. */
#include "frontend/compile.h"

/* `nonlocal x`: some function around must bind x, which is known only when all has been seen. */
struct declared_nonlocal {
    const struct scope *scope;
    const char *name;
    struct place at;
};

struct symtable {
    struct frontend *f;
    struct scope *scope;     /* the current one */
    VEC(struct scope *) all; /* in order of the text: a scope comes before those inside it */
    VEC(struct declared_nonlocal) nonlocals;
};

static void visit_expr(struct symtable *t, const struct expr *e);
static void visit_body(struct symtable *t, const struct stmts *body);

/* ---- scopes */

static struct scope *open_scope(struct symtable *t, enum code_kind kind) {
    struct scope *s = NEW(t->f->arena, struct scope);
    s->kind = kind;
    s->parent = t->scope;
    s->symbols = map_new(t->f->arena);
    vec_push(t->f->arena, &t->all, s);
    t->scope = s;
    return s;
}

static void close_scope(struct symtable *t) { t->scope = t->scope->parent; }

uint32_t scope_use(const struct scope *s, const char *name) {
    uint64_t bits = 0;
    return map_gets(&s->symbols, name, &bits) ? (uint32_t)bits : 0;
}

static void mark(struct scope *s, const char *name, uint32_t bits) {
    map_puts(&s->symbols, name, scope_use(s, name) | bits);
}

static bool is_function(const struct scope *s) {
    return s->kind != CODE_MODULE && s->kind != CODE_CLASS;
}

static bool is_comprehension(const struct scope *s) {
    return s->kind == CODE_COMPREHENSION || s->kind == CODE_GENEXPR;
}

/* super() without arguments needs the class it stands in: the cell __class__. */
static void note_read(struct symtable *t, const char *name) {
    mark(t->scope, name, SYMBOL_READ);
    if (is_function(t->scope) && strcmp(name, "super") == 0)
        mark(t->scope, "__class__", SYMBOL_READ);
}

static void visit_exprs(struct symtable *t, const struct expr_list *list) {
    for (uint32_t i = 0; i < list->n; i++) visit_expr(t, list->at[i]);
}

/* ---- binding */

static void visit_target(struct symtable *t, const struct expr *e) {
    if (e->kind == E_NAME) {
        mark(t->scope, e->name, SYMBOL_BOUND);
    } else if (e->kind == E_TUPLE || e->kind == E_LIST) {
        for (uint32_t i = 0; i < e->items.n; i++) visit_target(t, e->items.at[i]);
    } else if (e->kind == E_STARRED) {
        visit_target(t, e->starred);
    } else {
        visit_expr(t, e);
    }
}

/* x := 1 inside a comprehension binds x in the function (or module) around it. */
static void visit_walrus(struct symtable *t, const struct expr *e) {
    const char *name = e->walrus.target->name;
    struct scope *s = t->scope;
    for (; is_comprehension(s); s = s->parent) {
        if (scope_use(s, name) & SYMBOL_BOUND)
            syntax_error(
                t->f, e->at,
                "assignment expression cannot rebind comprehension iteration variable '%s'", name);
    }
    if (s != t->scope && s->kind == CODE_CLASS)
        syntax_error(t->f, e->at,
                     "assignment expression within a comprehension cannot be used in a class body");
    bool global = s->kind == CODE_MODULE || (scope_use(s, name) & SYMBOL_GLOBAL);
    for (struct scope *inner = t->scope; inner != s; inner = inner->parent)
        mark(inner, name, global ? SYMBOL_GLOBAL : SYMBOL_NONLOCAL);
    mark(s, name, SYMBOL_BOUND);
    visit_expr(t, e->walrus.value);
}

static void add_param(struct symtable *t, const struct param *param) {
    if (scope_use(t->scope, param->name) & SYMBOL_PARAM)
        syntax_error(t->f, param->at, "duplicate argument '%s' in function definition",
                     param->name);
    mark(t->scope, param->name, SYMBOL_PARAM | SYMBOL_BOUND);
}

/* Defaults belong to the scope outside; call before the function's own scope is opened. */
static void visit_defaults(struct symtable *t, const struct params *params) {
    for (uint32_t i = 0; i < params->list.n; i++)
        if (params->list.at[i].value) visit_expr(t, params->list.at[i].value);
}

static void add_params(struct symtable *t, const struct params *params) {
    for (uint32_t i = 0; i < params->list.n; i++) add_param(t, &params->list.at[i]);
    if (params->vararg) add_param(t, params->vararg);
    if (params->kwarg) add_param(t, params->kwarg);
}

/* ---- expressions */

static void visit_lambda(struct symtable *t, const struct expr *e) {
    visit_defaults(t, &e->lambda.params);
    struct scope *s = open_scope(t, CODE_LAMBDA);
    ((struct expr *)e)->lambda.scope = s;
    add_params(t, &e->lambda.params);
    visit_expr(t, e->lambda.body);
    close_scope(t);
}

/* The iterable of the outermost `for` is evaluated outside and comes in as the parameter ".0". */
static void visit_comprehension(struct symtable *t, const struct expr *e) {
    visit_expr(t, e->comprehension.clauses.at[0].iter);
    bool generator = e->comprehension.kind == COMPREHEND_GENERATOR;
    struct scope *s = open_scope(t, generator ? CODE_GENEXPR : CODE_COMPREHENSION);
    ((struct expr *)e)->comprehension.scope = s;
    s->comprehension = e->comprehension.kind;
    mark(s, ".0", SYMBOL_PARAM | SYMBOL_BOUND);
    for (uint32_t i = 0; i < e->comprehension.clauses.n; i++) {
        const struct for_clause *c = &e->comprehension.clauses.at[i];
        visit_target(t, c->target);
        if (i) visit_expr(t, c->iter);
        visit_exprs(t, &c->tests);
    }
    visit_expr(t, e->comprehension.element);
    if (e->comprehension.value) visit_expr(t, e->comprehension.value);
    close_scope(t);
}

static void visit_optional(struct symtable *t, const struct expr *e) {
    if (e) visit_expr(t, e);
}

static void visit_call(struct symtable *t, const struct expr *e) {
    visit_expr(t, e->call.function);
    visit_exprs(t, &e->call.args);
    for (uint32_t i = 0; i < e->call.keywords.n; i++) visit_expr(t, e->call.keywords.at[i].value);
}

static void visit_yield(struct symtable *t, const struct expr *e) {
    static const char *const names[] = {[COMPREHEND_LIST] = "list comprehension",
                                        [COMPREHEND_SET] = "set comprehension",
                                        [COMPREHEND_DICT] = "dict comprehension",
                                        [COMPREHEND_GENERATOR] = "generator expression"};
    enum code_kind kind = t->scope->kind;
    if (kind == CODE_COMPREHENSION || kind == CODE_GENEXPR)
        syntax_error(t->f, e->at, "'yield' inside %s", names[t->scope->comprehension]);
    if (kind != CODE_FUNCTION && kind != CODE_LAMBDA)
        syntax_error(t->f, e->at, "'yield' outside function");
    t->scope->yields = true;
    visit_optional(t, e->yield.value);
}

static void visit_expr(struct symtable *t, const struct expr *e) {
    if (++t->f->depth > MAX_TREE_DEPTH)
        syntax_error(t->f, e->at, "expression is too deeply nested");
    switch (e->kind) {
    case E_NAME: note_read(t, e->name); break;
    case E_CONSTANT: break;
    case E_TUPLE:
    case E_LIST:
    case E_SET:
    case E_AND:
    case E_OR:
    case E_JOINED: visit_exprs(t, &e->items); break;
    case E_DICT:
        for (uint32_t i = 0; i < e->dict.keys.n; i++) {
            visit_optional(t, e->dict.keys.at[i]);
            visit_expr(t, e->dict.values.at[i]);
        }
        break;
    case E_BINARY:
        visit_expr(t, e->binary.left);
        visit_expr(t, e->binary.right);
        break;
    case E_UNARY: visit_expr(t, e->unary.value); break;
    case E_COMPARE: visit_exprs(t, &e->compare.operands); break;
    case E_TERNARY:
        visit_expr(t, e->ternary.test);
        visit_expr(t, e->ternary.yes);
        visit_expr(t, e->ternary.no);
        break;
    case E_LAMBDA: visit_lambda(t, e); break;
    case E_CALL: visit_call(t, e); break;
    case E_ATTRIBUTE: visit_expr(t, e->attribute.object); break;
    case E_SUBSCRIPT:
        visit_expr(t, e->subscript.object);
        visit_expr(t, e->subscript.index);
        break;
    case E_SLICE:
        visit_optional(t, e->slice.low);
        visit_optional(t, e->slice.high);
        visit_optional(t, e->slice.step);
        break;
    case E_STARRED: visit_expr(t, e->starred); break;
    case E_WALRUS: visit_walrus(t, e); break;
    case E_YIELD: visit_yield(t, e); break;
    case E_COMPREHENSION: visit_comprehension(t, e); break;
    case E_FORMATTED:
        visit_expr(t, e->formatted.value);
        visit_optional(t, e->formatted.spec);
        break;
    }
    t->f->depth--;
}

/* ---- statements */

/* global and nonlocal come before every other use of the name in the scope. */
static void visit_declaration(struct symtable *t, const struct stmt *s) {
    bool global = s->kind == S_GLOBAL;
    const char *word = global ? "global" : "nonlocal";
    if (!global && t->scope->kind == CODE_MODULE)
        syntax_error(t->f, s->at, "nonlocal declaration not allowed at module level");
    for (uint32_t i = 0; i < s->names.n; i++) {
        const char *name = s->names.at[i];
        uint32_t use = scope_use(t->scope, name);
        if (use & SYMBOL_PARAM)
            syntax_error(t->f, s->at, "name '%s' is parameter and %s", name, word);
        if (use & (global ? SYMBOL_NONLOCAL : SYMBOL_GLOBAL))
            syntax_error(t->f, s->at, "name '%s' is nonlocal and global", name);
        if (use & SYMBOL_READ)
            syntax_error(t->f, s->at, "name '%s' is used prior to %s declaration", name, word);
        if (use & SYMBOL_BOUND)
            syntax_error(t->f, s->at, "name '%s' is assigned to before %s declaration", name, word);
        struct declared_nonlocal declared = {t->scope, name, s->at};
        if (!global) vec_push(t->f->arena, &t->nonlocals, declared);
        mark(t->scope, name, global ? SYMBOL_GLOBAL : SYMBOL_NONLOCAL);
    }
}

static void visit_import(struct symtable *t, const struct stmt *s) {
    if (s->import.star && t->scope->kind != CODE_MODULE)
        syntax_error(t->f, s->at, "import * only allowed at module level");
    for (uint32_t i = 0; i < s->import.aliases.n; i++) {
        const struct alias *a = &s->import.aliases.at[i];
        const char *name = a->name ? a->name : a->dotted;
        size_t n = a->name ? strlen(name) : strcspn(name, ".");
        mark(t->scope, arena_strndup(t->f->arena, name, n), SYMBOL_BOUND);
    }
}

static void visit_try(struct symtable *t, const struct stmt *s) {
    visit_body(t, &s->try_.body);
    for (uint32_t i = 0; i < s->try_.handlers.n; i++) {
        const struct handler *h = &s->try_.handlers.at[i];
        visit_optional(t, h->type);
        if (h->name) mark(t->scope, h->name, SYMBOL_BOUND);
        visit_body(t, &h->body);
    }
    visit_body(t, &s->try_.orelse);
    visit_body(t, &s->try_.final);
}

static void visit_function(struct symtable *t, const struct stmt *s) {
    visit_exprs(t, &s->function.decorators);
    visit_defaults(t, &s->function.params);
    mark(t->scope, s->function.name, SYMBOL_BOUND);
    ((struct stmt *)s)->function.scope = open_scope(t, CODE_FUNCTION);
    add_params(t, &s->function.params);
    visit_body(t, &s->function.body);
    close_scope(t);
}

static void visit_class(struct symtable *t, const struct stmt *s) {
    visit_exprs(t, &s->class_.decorators);
    visit_exprs(t, &s->class_.bases);
    for (uint32_t i = 0; i < s->class_.keywords.n; i++)
        visit_expr(t, s->class_.keywords.at[i].value);
    mark(t->scope, s->class_.name, SYMBOL_BOUND);
    ((struct stmt *)s)->class_.scope = open_scope(t, CODE_CLASS);
    visit_body(t, &s->class_.body);
    close_scope(t);
}

static void visit_targets(struct symtable *t, const struct expr_list *targets) {
    for (uint32_t i = 0; i < targets->n; i++) visit_target(t, targets->at[i]);
}

static void visit_pattern(struct symtable *t, const struct pattern *x) {
    mark(t->scope, x->subject, SYMBOL_BOUND);
    if (x->kind == PATTERN_SEQUENCE || x->kind == PATTERN_MAPPING || x->kind == PATTERN_CLASS)
        mark(t->scope, arena_printf(t->f->arena, "%s.", x->subject), SYMBOL_BOUND);
    if (x->name) {
        mark(t->scope, x->name, SYMBOL_BOUND);
        mark(t->scope, pattern_variable(t->f, x->name), SYMBOL_BOUND);
    }
    visit_exprs(t, &x->values);
    for (uint32_t i = 0; i < x->items.n; i++) visit_pattern(t, x->items.at[i]);
}

static void visit_match(struct symtable *t, const struct stmt *s) {
    visit_expr(t, s->match.subject);
    for (uint32_t i = 0; i < s->match.cases.n; i++) {
        const struct match_case *c = &s->match.cases.at[i];
        visit_pattern(t, c->pattern);
        if (c->guard) visit_expr(t, c->guard);
        visit_body(t, &c->body);
    }
}

static void visit_stmt(struct symtable *t, const struct stmt *s) {
    switch (s->kind) {
    case S_EXPR:
    case S_RETURN: visit_optional(t, s->expr); break;
    case S_ASSIGN:
        visit_expr(t, s->assign.value);
        visit_targets(t, &s->assign.targets);
        break;
    case S_AUGMENTED:
        visit_target(t, s->augmented.target);
        visit_expr(t, s->augmented.value);
        break;
    case S_ANNOTATED:
        visit_target(t, s->annotated.target);
        visit_optional(t, s->annotated.value);
        break;
    case S_RAISE:
        visit_optional(t, s->raise.exception);
        visit_optional(t, s->raise.cause);
        break;
    case S_ASSERT:
        visit_expr(t, s->assert_.test);
        visit_optional(t, s->assert_.message);
        break;
    case S_DELETE: visit_targets(t, &s->targets); break;
    case S_PASS:
    case S_BREAK:
    case S_CONTINUE: break;
    case S_GLOBAL:
    case S_NONLOCAL: visit_declaration(t, s); break;
    case S_IMPORT:
    case S_FROM: visit_import(t, s); break;
    case S_IF:
    case S_WHILE:
        visit_expr(t, s->branch.test);
        visit_body(t, &s->branch.body);
        visit_body(t, &s->branch.orelse);
        break;
    case S_FOR:
        visit_expr(t, s->for_.iter);
        visit_target(t, s->for_.target);
        visit_body(t, &s->for_.body);
        visit_body(t, &s->for_.orelse);
        break;
    case S_WITH:
        for (uint32_t i = 0; i < s->with.items.n; i++) {
            visit_expr(t, s->with.items.at[i].manager);
            if (s->with.items.at[i].target) visit_target(t, s->with.items.at[i].target);
        }
        visit_body(t, &s->with.body);
        break;
    case S_TRY: visit_try(t, s); break;
    case S_MATCH: visit_match(t, s); break;
    case S_FUNCTION: visit_function(t, s); break;
    case S_CLASS: visit_class(t, s); break;
    }
}

static void visit_body(struct symtable *t, const struct stmts *body) {
    for (uint32_t i = 0; i < body->n; i++) visit_stmt(t, body->at[i]);
}

/* ---- resolution */

static bool binds(const struct scope *s, const char *name) {
    uint32_t use = scope_use(s, name);
    if (s->kind == CODE_CLASS) return strcmp(name, "__class__") == 0;
    return is_function(s) && (use & SYMBOL_BOUND) && !(use & (SYMBOL_GLOBAL | SYMBOL_NONLOCAL));
}

/* A name that a scope uses but does not own: if a function around it does, it is a cell there, free
 * in between. */
static void resolve(struct scope *s, const char *name) {
    struct scope *owner = s->parent;
    for (; owner && !binds(owner, name); owner = owner->parent)
        if (is_function(owner) && (scope_use(owner, name) & SYMBOL_GLOBAL)) return;
    if (!owner) return;
    mark(owner, name, SYMBOL_CELL);
    for (; s != owner; s = s->parent) mark(s, name, SYMBOL_FREE);
}

static void resolve_scope(struct scope *s) {
    for (uint32_t i = 0; i < s->symbols.n; i++) {
        uint64_t use = s->symbols.entries[i].value;
        bool own = (use & SYMBOL_BOUND) && !(use & SYMBOL_NONLOCAL);
        bool wanted = use & (SYMBOL_READ | SYMBOL_NONLOCAL);
        if (wanted && !own && !(use & (SYMBOL_GLOBAL | SYMBOL_FREE)))
            resolve(s, s->symbols.entries[i].key);
    }
}

void symtable_build(struct frontend *f, struct module *m) {
    struct symtable t = {.f = f};
    f->depth = 0;
    m->scope = open_scope(&t, CODE_MODULE);
    visit_body(&t, &m->body);
    for (uint32_t i = 0; i < t.all.n; i++) resolve_scope(t.all.at[i]);
    for (uint32_t i = 0; i < t.nonlocals.n; i++) {
        const struct declared_nonlocal *n = &t.nonlocals.at[i];
        if (!(scope_use(n->scope, n->name) & SYMBOL_FREE))
            syntax_error(f, n->at, "no binding for nonlocal '%s' found", n->name);
    }
}
