/* place.c: where values lie outside a trace, as steps from the frame and as text.
 *
 *   L['self'].layers[0].weight   = attribute weight of item 0 of attribute layers of local 0
 *   G['dim']                     = name dim of the module's namespace
 *   M['parts.blocks'].dim        = the same of another file of the program */
#include "capture/vm.h"

const struct place place_traced = {.kind = PLACE_NONE, .text = ""};

bool place_is_known(const struct place *p) { return p && p != &place_traced; }

static const struct place *place_new(struct vm *vm, struct place from) {
    struct place *p = NEW(vm->arena, struct place);
    *p = from;
    if (!p->path) p->path = p->text;
    return p;
}

const struct place *place_local(struct vm *vm, uint32_t index, const char *name) {
    return place_new(vm, (struct place){.kind = PLACE_LOCAL,
                                        .index = index,
                                        .name = name,
                                        .text = arena_printf(vm->arena, "L['%s']", name)});
}

const struct place *place_item(struct vm *vm, const struct place *base, int64_t index) {
    const char *path = arena_printf(vm->arena, "%s[%lld]", base->path, (long long)index);
    const char *text = base->text == base->path
                           ? path
                           : arena_printf(vm->arena, "%s[%lld]", base->text, (long long)index);
    return place_new(
        vm, (struct place){
                .kind = PLACE_ITEM, .base = base, .index = index, .text = text, .path = path});
}

const struct place *place_stack(struct vm *vm, uint32_t index) {
    const char *text = arena_printf(vm->arena, "L['___stack%u']", index);
    return place_new(vm, (struct place){.kind = PLACE_STACK, .index = index, .text = text});
}

const struct place *place_over(struct vm *vm, const struct place *iterator) {
    const char *text = arena_printf(vm->arena, "iter(%s)", iterator->text);
    return place_new(vm, (struct place){.kind = PLACE_OVER, .base = iterator, .text = text});
}

const struct place *place_cell(struct vm *vm, const struct place *function, uint32_t index,
                               const char *name) {
    const char *text = arena_printf(vm->arena, "%s%sC['%s']", function ? function->text : "",
                                    function ? "." : "", name);
    return place_new(
        vm, (struct place){
                .kind = PLACE_CELL, .base = function, .index = index, .name = name, .text = text});
}

static void stamp(struct vm *vm, struct py *v, struct place from) {
    if (v->source) return;
    v->source = place_new(vm, from);
    guard_read(vm, *v);
}

void stamp_attribute(struct vm *vm, struct py *v, const struct place *base, const char *name) {
    if (!vm->tracing || !place_is_known(base) || v->source) return;
    /* The list inside a container of modules stands for the container. */
    const char *path = arena_printf(vm->arena, "%s.%s", base->path, name);
    const char *text = !strcmp(name, "_ws_items") ? base->text
                       : base->text == base->path
                           ? path
                           : arena_printf(vm->arena, "%s.%s", base->text, name);
    stamp(
        vm, v,
        (struct place){.kind = PLACE_ATTR, .base = base, .name = name, .text = text, .path = path});
}

void stamp_item(struct vm *vm, struct py *v, const struct place *base, int64_t index) {
    if (!vm->tracing || !place_is_known(base) || v->source) return;
    stamp(vm, v, *place_item(vm, base, index));
}

void stamp_key(struct vm *vm, struct py *v, const struct place *base, struct py key) {
    if (!vm->tracing || !place_is_known(base) || v->source) return;
    struct py *k = NEW(vm->arena, struct py);
    *k = key;
    bool attribute = base->kind == PLACE_ATTR && !strcmp(base->name, "__dict__") &&
                     key.kind == PY_STR; /* of the object whose __dict__ it is */
    const char *text = attribute ? arena_printf(vm->arena, "%s.%s", base->base->text, key.s)
                                 : arena_printf(vm->arena, "%s[%s]", base->text, py_repr(vm, key));
    stamp(vm, v, (struct place){.kind = PLACE_KEY, .base = base, .key = k, .text = text});
}

void stamp_global(struct vm *vm, struct py *v, struct module *m, const char *name) {
    if (!vm->tracing || v->source) return;
    bool own = m == vm->main || m->prelude;
    const char *text = own ? arena_printf(vm->arena, "G['%s']", name)
                           : arena_printf(vm->arena, "M['%s'].%s", m->name, name);
    stamp(vm, v, (struct place){.kind = PLACE_GLOBAL, .module = m, .name = name, .text = text});
}

void stamp_cell(struct vm *vm, struct py *v, const struct place *function, uint32_t index,
                const char *name) {
    if (!vm->tracing || v->source || (function && !place_is_known(function))) return;
    v->source = place_cell(vm, function, index, name);
    guard_read(vm, *v);
}
