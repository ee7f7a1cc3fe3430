/* graph.h: the ATen graph, what the user's program computes, with fake tensors (type, shape,
 * stride; no data).
 *
 * A graph is a list of nodes in topological order; a node applies one operator of ops.def to
 * arguments and yields one tensor. A captured graph may hold every operator; after decompose() only
 * POINTWISE, REDUCE, SCAN, VIEW, MATMUL, CREATE, MOVE, LOOP and INPUT remain.
 *
 * Printed (and parsed back by graph_parse), one node a line:
 *
 *   graph(%x: f32[4096, 4096] = L['x'],
 *         %w: f32[4096] = parameter L['self'].weight) {
 *     %softmax: f32[4096, 4096] = softmax(%x, dim=1, dtype=None)
 *     %mul: f32[4096, 4096] = mul(%softmax, %w)
 *     return %mul
 *   }
 *
 * Strides follow the sizes where they are not row-major: f32[8, 4][1, 8]. An input's kind is said
 * unless it is an argument, and the number of its init output unless that equals its position:
 * "= buffer 7 L['self'].mean". Leading tensor operands are positional, everything after them is
 * named. An output that is the new value of an input is returned as such: "%x = %mul". A parsed
 * node may leave out its type. Products of f32 that are not as exact as the default, or only
 * multiply-adds, are said behind the inputs: "graph(...) products tf32, convolutions strict {".
 *
 * Invariants (graph_verify reports these numbers):
 *   G1  a node's arguments are nodes before it;
 *   G2  arguments match the operator's schema in number and kind;
 *   G3  meta equals what graph_meta infers from the arguments;
 *   G4  INPUT nodes come first and equal graph.inputs; outputs, at least one, are nodes; the new
 *       value of an input is an output of its own, of the input's dtype and sizes;
 *   G5  names are unique and are Python identifiers;
 *   G6  (after decompose) no COMPOSITE node.
 *
 * Ownership: everything lives in graph.arena; expressions in graph.ex. */
#ifndef WS_GRAPH_H
#define WS_GRAPH_H

#include "base/base.h"

enum { WS_MAX_RANK = 8 };

enum op_class { POINTWISE, REDUCE, SCAN, VIEW, MATMUL, CREATE, MOVE, COMPOSITE, LOOP, INPUT };

enum op {
#define OP(id, ...) OP_##id,
#include "graph/ops.def"
#undef OP
    OP_COUNT
};

enum dtype_rule {
    RULE_PROMOTE,
    RULE_FLOAT,
    RULE_SAME,
    RULE_BOOL,
    RULE_SUM,
    RULE_ARG,
    RULE_I64,
    RULE_CUSTOM
};

enum arg_kind {
    ARG_NONE,
    ARG_NODE,
    ARG_NODES,
    ARG_INT,
    ARG_INTS,
    ARG_FLOAT,
    ARG_BOOL,
    ARG_DTYPE,
    ARG_STR,
    ARG_GRAPH
};

typedef uint32_t node_id; /* index into graph.nodes */

struct arg {
    enum arg_kind kind;
    union {
        node_id node;
        ex i; /* ARG_INT: integers and dimensions; graph_call makes dimensions 0..rank-1 */
        double f;
        bool b;
        enum dtype dtype;
        const char *s;
        struct graph *graph; /* the body of a loop; whoever changes it makes another */
        struct {
            ex *at;
            uint32_t n;
        } ints; /* ARG_INTS */
        struct {
            node_id *at;
            uint32_t n;
        } nodes; /* ARG_NODES */
    };
};

struct meta {
    enum dtype dtype;
    uint8_t rank;
    ex size[WS_MAX_RANK];
    ex stride[WS_MAX_RANK]; /* in elements; 0 where expanded */
};

/* One parameter of an operator, parsed from its schema. */
struct param {
    const char *name;
    char kind;     /* T I D S F B Y s G; '|' for T|S */
    bool list;     /* kind[] */
    bool optional; /* None allowed */
    bool has_default;
    struct arg def; /* ARG_INT defaults hold a plain number in f */
};
enum { MAX_PARAMS = 10, MAX_DROPPED = 4 };

struct op_info {
    enum op id;
    const char *name;
    enum op_class class;
    enum dtype_rule dtype;
    const char *schema; /* as in ops.def */
    const char *code;   /* kernel expression, POINTWISE */
    const char *python; /* names */
    bool elementwise;   /* has a ref (composites may, too): one element of each operand makes one */
    int n_params, n_dropped;
    struct param params[MAX_PARAMS];
    const char *dropped[MAX_DROPPED]; /* keywords accepted and ignored */
};
const struct op_info *op_info(enum op op);
/* op_size.c: about how many instructions of a kernel's text it is, computed in t. */
int op_size(enum op op, enum dtype t);
/* By name: "softmax"; by Python name: "torch.softmax", "op:+", "op:r+". */
bool op_find(const char *name, enum op *out);
bool op_find_python(const char *name, enum op *out);

/* The supported Python names nearest to one that is not, as "torch.softmax, F.softmax", for
 * messages such as "operator torch.sofmax is not supported; nearest: ...". */
const char *op_suggest(struct arena *a, const char *python_name);

struct node {
    enum op op;
    uint8_t n_args;
    struct arg *args; /* one per schema parameter, in order */
    struct meta meta;
    const char *name; /* printed as %name */
    struct span where;
    /* The node of the captured graph that this one came from: eager = one kernel per origin. */
    node_id origin;
};

/* Where an input's value comes from and what it must be: printed as guards by capture. A buffer is
 * any that no gradient is taken of: frozen parameters and tensors kept as attributes, too. */
enum input_kind { INPUT_ARG, INPUT_PARAMETER, INPUT_BUFFER };
struct graph_input {
    node_id node;
    enum input_kind kind;
    const char *source; /* "L['x']", "L['self'].weight" */
    uint32_t init;      /* which output of the init graph holds its value */
    uint32_t becomes; /* 1 + the output that is its new value, if it is updated in place; else 0 */
};

struct graph {
    struct arena *arena;
    struct exprs *ex;
    const struct source *src;   /* for messages; may be NULL */
    struct map names, suffixes; /* name -> node; what an unnumbered name would be numbered next */
    VEC(struct node) nodes;
    VEC(struct graph_input) inputs;
    VEC(node_id) outputs;
    VEC(uint32_t)
    chain;             /* chain_copies.c: of the first nodes: the chain that each is a copy for; 0:
                            none */
    uint32_t n_random; /* random tensors made without an index so far */
    ex random_base;    /* what their indices count from; EX_NONE: 0 */
    uint64_t seed;     /* of the random tensors */
    enum precision products, convolutions; /* of f32: "precision" of what mm and bmm, and convolve
                                              come to */
    bool
        stores_values; /* eval rounds every node's value to its dtype, as eager PyTorch stores it */
    bool given_exactly; /* eval takes inputs as they are, unrounded: the body of a loop */
    bool in_doubles;    /* it is lowered for kernels that compute in doubles whatever the types: its
                        numbers are not rounded, and errors are not decomposed */
    bool keeps_states;  /* what a loop's products read of the step before has memory of all steps */
    bool returns_inputs;   /* an output that is an input is not computed */
    bool fixed;            /* parameters and buffers of the module hold the same in every call */
    bool (*stopped)(void); /* does the user want eval to end? NULL: nobody asks */
    const struct budget *budget; /* eval ends, too, where it is over; NULL: it may take any time */
};

struct graph *graph_new(struct arena *a, struct exprs *ex, const struct source *src);
void graph_reserve(struct graph *g, uint32_t nodes); /* room for so many */

/* For passes that rebuild a graph: an empty graph in from's arena with its source and seed; and a
 * copy of node n of `from` (its name if free, its place and origin) whose arguments are renamed
 * through map (old id -> new id). An INPUT brings its graph_input along. */
struct graph *graph_like(const struct graph *from);
node_id graph_copy(struct graph *to, const struct graph *from, node_id n, const node_id *map);
/* The same, of new inputs of `to`: one for each operand, in their order. */
node_id graph_copy_alone(struct graph *to, const struct graph *from, node_id n);

/* rebuild.c. g without the nodes that no output needs, inputs first (G4); g with to[i] in place of
 * the symbolic size symbols[i], in arena a; and the same with numbers. */
struct graph *graph_prune(const struct graph *g);
/* Every input stays, and everything its place among the others, its origin and its chain. */
struct graph *graph_drop_unused(const struct graph *g);
void graph_own_origins(struct graph *g); /* every node is where it comes from */
/* graph_prune of g itself, whose nodes get other ids: graphs of long loops are large. */
void graph_prune_in_place(struct graph *g);
struct graph *graph_substitute(const struct graph *g, const ex *symbols, const ex *to, uint32_t n,
                               struct arena *a);
struct graph *graph_specialize(const struct graph *g, const ex *symbols, const int64_t *values,
                               uint32_t n, struct arena *a);

/* The node of that name ("x" for %x); false if there is none. */
bool graph_find(const struct graph *g, const char *name, node_id *out);

/* Does an argument that names dimensions name this one? None and () name all. */
bool arg_names_dim(struct exprs *p, const struct arg *a, int dim);
/* How many nodes an argument names, and where they are listed. */
int arg_nodes(const struct arg *a, const node_id **out);

/* How often each node is used as an argument or output; n = nodes.n counts, in g->arena. */
uint32_t *graph_use_counts(const struct graph *g);
/* The first output that is the node that output i is. */
uint32_t graph_first_output(const struct graph *g, uint32_t i);
/* The input that output i is, as it lies, of a graph that `returns_inputs`; inputs.n: none. */
uint32_t graph_returned_input(const struct graph *g, uint32_t i);

/* A new leaf. name is a hint; it is made unique. */
node_id graph_input(struct graph *g, const char *name, enum input_kind kind, const char *source,
                    const struct meta *meta, uint32_t init);

/* Does it hold the same in every call? Not what the program itself updates. */
bool graph_input_fixed(const struct graph *g, const struct graph_input *in);

/* Apply op. args: one per parameter (missing trailing ones get defaults). Checks kinds, normalises
 * dimensions to 0..rank-1, slice bounds to 0..size and the -1 of view and expand to sizes, infers
 * meta. On a user mistake (shape mismatch, bad dimension, type) fills d with "file:line:col: add:
 * shapes [4, 8] and [4, 7] do not broadcast" and returns false. */
bool graph_call(struct graph *g, enum op op, const struct arg *args, int n_args, struct span where,
                struct diag *d, node_id *out);

/* The same with Python calling conventions: positional args, then named ones. A required list of
 * integers may be spread over the positional arguments (x.view(2, 3)); a random tensor without an
 * index gets the graph's next one; messages are Python's: "softmax() missing required argument
 * 'dim'". */
bool graph_bind(struct graph *g, enum op op, const struct arg *pos, int n_pos,
                const char *const *names, const struct arg *named, int n_named, struct span where,
                struct diag *d, node_id *out);

/* The nth parameter that numpy or functional calls `said`: "dim" of "axis"; NULL after the last. */
const char *call_other_name(const char *said, int nth);

/* Shorthands for passes that build graphs; a mistake here is our bug. */
node_id graph_op1(struct graph *g, enum op op, node_id a);
node_id graph_op2(struct graph *g, enum op op, node_id a, node_id b);
node_id graph_op2s(struct graph *g, enum op op, node_id a, double number);
struct arg arg_node(node_id n);
struct arg arg_int(struct graph *g, int64_t v);
struct arg arg_ex(ex e);
struct arg arg_float(double v);
struct arg arg_bool(bool b);
struct arg arg_none(void);
struct arg arg_dtype(enum dtype d);
struct arg arg_str(const char *s);
struct arg arg_ints(struct graph *g, const ex *at, uint32_t n);

/* Shape inference: meta of op applied to args. Used by graph_call and by the verifier. */
bool graph_meta(struct graph *g, enum op op, const struct arg *args, struct span where,
                struct diag *d, struct meta *out);
/* The type a pointwise node computes in: its operands' common type, widened to opmath. lt(i64, f32)
 * compares in f32. */
enum dtype graph_compute_dtype(struct graph *g, const struct node *n);
/* The same before it is widened. */
enum dtype graph_common_dtype(struct graph *g, const struct node *n);
/* Where the dimensions of the index tensors stand in what index yields: in place of the indexed
 * dimensions `dims` of a tensor of that rank if those are one stretch, else in front. */
int graph_index_position(const struct exprs *p, const struct arg *dims, int rank);
void meta_contiguous(struct exprs *p, struct meta *m); /* set row-major strides from sizes */
bool meta_same_shape(const struct meta *a, const struct meta *b); /* and type; not strides */
bool meta_is_contiguous(struct exprs *p, const struct meta *m);
ex meta_numel(struct exprs *p, const struct meta *m);

/* print.c, parse.c, verify.c */
void graph_print(struct buf *b, const struct graph *g);
void graph_print_readable(struct buf *b, const struct graph *g); /* as Python that calls ATen */
/* Its parts: the name of an input; is an argument what its parameter has anyway; the line of the
 * program at a place, "f.py:3, code: y = x * 2", or nothing. */
const char *graph_readable_name(const struct graph *g, const struct graph_input *in);
bool graph_is_default(const struct graph *g, const struct param *p, const struct arg *a);
void graph_print_place(struct buf *b, const struct graph *g, struct span at);
struct graph *graph_parse(struct arena *a, struct exprs *ex, const struct source *src,
                          struct diag *d);
/* One argument as printed: "%x", "[4, s0]", "1e-05", "None"; shape: "[4, s0]". */
void graph_print_arg(struct buf *b, const struct graph *g, const struct arg *a);
void graph_print_shape(struct buf *b, const struct graph *g, const struct meta *m);
/* Returns NULL or a message "G3: ..." in g->arena. */
const char *graph_verify(struct graph *g, bool decomposed);

/* simplify.c: constant folding, algebraic identities, common subexpressions, dead code.  Needs:
 * verified graph. Returns a new graph in the same arena. */
struct graph *graph_simplify(struct graph *g);

/* simplify.c: the nodes of a as they are, then those of b that a has not, over the same inputs; the
 * outputs of a, then those of b. Returns a new graph in a's arena. */
struct graph *graph_join(const struct graph *a, const struct graph *b);
/* The same of one graph: its nodes as they are, but of equal ones the first alone. */
struct graph *graph_share(const struct graph *g);
/* The same of many graphs, one after the other, into one that has inputs: input i of g is its node
 * inputs[i]; outputs[], one for each of g, become nodes of it. */
struct joining *joining_new(struct graph *to);
void joining_add(struct joining *j, const struct graph *g, const node_id *inputs, node_id *outputs);

/* decompose.c: rewrite COMPOSITE nodes into primitives until none is left. Returns a new graph. */
struct graph *graph_decompose(struct graph *g);
/* The same for a device: where it has matrix units, the phases of a transposed convolution may be a
 * dimension of one product, which others compute better apart (decompose_phases.c). */
struct graph *graph_decompose_for(struct graph *g, const struct device_limits *device);
/* decompose_phases.c: how many positions of one dimension the phases of a transposed convolution
 * without a dilation read for one output of each, and the last of them, counted from that output's
 * number. */
int64_t phase_positions(int64_t taps, int64_t stride, int64_t padding, int64_t *last);
/* The same, but index_add, scatter and scatter_add stay: the parts of these have an element for
 * each pair of a source and a place, which nobody wants in memory, the reference least of all. */
struct graph *graph_decompose_but_landings(struct graph *g);
/* The same, but for what bounds on rounding errors are made of (bound.c): kernels in doubles have
 * one instruction for each (emit/plain.c). And what one_pass.c has made is two passes again. */
struct graph *graph_decompose_but_errors(struct graph *g);

/* landed.c: a sum, for each place, of the sources whose index it is, as `pairs`, where `hit`. */
struct landed {
    node_id index, source; /* of the pairs' rank: the sources last, the place at `dim` */
    node_id hit, pairs;
    int dim;
};
/* Is node id of a decomposed graph such a sum? */
bool graph_find_landed(const struct graph *g, node_id id, struct landed *out);
/* The same by index_add in another graph, whose nodes index and source are. */
node_id graph_land(struct graph *to, const struct meta *sum, const struct landed *l, node_id index,
                   node_id source);

/* rowwise.c: has output 0 a row, along its first dimension, for each row of the inputs i with
 * rows[i], made of that row alone? Needs: a decomposed graph. False may mean that it is not known.
 */
bool graph_is_rowwise(const struct graph *g, const bool *rows);

/* extrema_first.c: amax(relu(x)) as relu(amax(x)), through windows and views, where nobody else
 * reads what is between. Needs: a decomposed, simplified graph. Returns a new graph in the same
 * arena. */
struct graph *graph_extrema_first(struct graph *g);

/* pools_first.c: the means of what a convolution of one tap makes, as what it makes of means, where
 * nobody else reads what is between. Needs: a captured, simplified graph. Returns a new graph in
 * the same arena, or g. */
struct graph *graph_pools_first(struct graph *g);
/* The same as the least of both ways, which are equal but for roundings: of a mean there is one, of
 * what it is the mean of several, which may even out, or be of more. For bounds. */
struct graph *graph_pools_either_way(struct graph *g);

/* totals_first.c: sums and means over all positions of a dimension of what a convolution makes, as
 * what it makes of such sums, and means of windows, as what means of its filters make, where nobody
 * else reads what is between and the convolution has `least` products or more: 2^30 take a GPU
 * longer than some launches. Needs: a captured, simplified graph. Returns a new graph in the same
 * arena, or g. */
#define TOTALS_PAY 0x1p30
struct graph *graph_totals_first(struct graph *g, double least);
/* The same as the least of both ways; for bounds. */
struct graph *graph_totals_either_way(struct graph *g, double least);

/* wide_filters.c: of convolutions of few filters and many taps some neighbouring outputs as filters
 * of one, for matrix units, which copy each window tap by tap, where that takes less and there are
 * `least` multiplications or more. us: what a captured graph takes, about. Needs: a captured,
 * simplified graph. Returns a new graph in the same arena, or g. */
#define WIDE_FILTERS_PAY 0x1p32
typedef double graph_us_fn(struct graph *g, void *ctx);
struct graph *graph_widen_filters(struct graph *g, double least, graph_us_fn *us, void *ctx);

/* join_linears.c: linear layers of one input, whose weights stay the same in every call, as one
 * whose weights are put together at load, where that takes less. us: what a captured graph takes,
 * about. Needs: a captured, simplified graph. Returns a new graph in the same arena, or g. */
struct graph *graph_join_linears(struct graph *g, graph_us_fn *us, void *ctx);

/* land_first.c: what lands on fewer rows is scanned there, along another axis. Needs: a captured,
 * simplified graph. Returns a new graph in the same arena, or g. */
struct graph *graph_land_first(struct graph *g);

/* scales_last.c: bmm(mul(q, 0.125), k) as mul(bmm(q, k), 0.125), where q is a part of what lies in
 * memory. Needs: a decomposed, simplified graph. Returns such a graph in the same arena, or g. */
struct graph *graph_scales_last(struct graph *g);

/* scans_last.c: cat([zeros, cumsum(x)]) as cumsum(cat([zeros, x])). Needs: a decomposed, simplified
 * graph. Returns a new graph in the same arena. */
struct graph *graph_scans_last(struct graph *g);

/* slice_scans.c: cumsum(x)[100:] as cumsum(x[100:]) + sum(x[:100]). Needs: a decomposed, simplified
 * graph. Returns such a graph in the same arena, or g. */
struct graph *graph_slice_scans(struct graph *g);

/* views_last.c: view(cumsum(x)) * 0.5 as view(cumsum(x) * 0.5), where the view splits the axis of
 * the scan. Needs: a decomposed, simplified graph. Returns such a graph in the same arena, or g. */
struct graph *graph_views_last(struct graph *g);

/* join_pads.c: sums of pads that lie side by side, and what is computed on them alone, as
 * concatenations. Needs: a decomposed, simplified graph. Returns such a graph in the same arena, or
 * g. */
struct graph *graph_join_pads(struct graph *g);

/* wide_scores.c: products of f16 or bf16 that are converted wherever they are read, in f32.
 * Needs: a decomposed graph. Returns a new graph in the same arena, or g. */
struct graph *graph_widen_scores(struct graph *g);

/* rounded_once.c: what is compared with its own extremum, in 16 bits, is rounded wherever it is
 * computed. Needs: a decomposed graph that is simplified no more. Returns such a graph in the same
 * arena, or g. */
struct graph *graph_round_once(struct graph *g);

/* tanh_softplus.c: tanh(log1p(exp(x))), as in mish, as a quotient of polynomials of exp(x). Needs:
 * a decomposed, simplified graph. Returns such a graph in the same arena, or g. */
struct graph *graph_divide_softplus(struct graph *g);

/* turned.c: a product that is read by reductions alone, and with its rows and columns the other way
 * round, is computed so. Needs: a decomposed, simplified graph. Returns such a graph in the same
 * arena; g if there is none. */
struct graph *graph_turn_products(struct graph *g);

/* one_pass.c: variances of rows that are too long to be kept, or too few, in one pass with their
 * means; sums of exp(x - max) likewise. Needs: a decomposed, simplified graph, which it changes;
 * what is no longer read stays. behind: also variances of what products have made. Returns how many
 * it has found. */
int graph_one_pass(struct graph *g, const struct device_limits *limits, bool behind);

/* factors_of_sums.c: sum(x * s) as sum(x) * s, where s is the same for all that is summed up and
 * has to be waited for. Needs: a decomposed, simplified graph behind one_pass.c. Returns such a
 * graph in the same arena, or g. */
struct graph *graph_factors_of_sums(struct graph *g, const struct device_limits *limits);

/* channels_last.c: images between convolutions have their channels innermost, for a device that
 * multiplies matrices of 16 bits, or f32 in tf32. Needs: a decomposed, simplified graph. Returns
 * a new graph in the same arena, or g. */
struct graph *graph_channels_last(struct graph *g);

/* reshaped.c: results of products that are reshaped across their memory before they are multiplied
 * are stored as they are reshaped. Needs: a decomposed, simplified graph. Returns a new graph in
 * the same arena, or g. */
struct graph *graph_store_reshaped(struct graph *g);

/* twins.c: a reduction that differs from one before it in keepdim alone is a view of that. Needs: a
 * decomposed graph, which it changes. */
void graph_join_twins(struct graph *g);

/* chain_copies.c: what several products of 16 bits read behind the same ones, copied for each, of
 * which graph.chain tells; *chains: how many chains of products these are then; 0: nothing is
 * copied, and it returns g. Needs: a decomposed, simplified graph. In the same arena. */
struct graph *graph_chain_copies(struct graph *g, int *chains);
/* The first step of it: rows' sums of two products by what the other one makes of them. Returns g
 * if it has none. */
struct graph *graph_sums_of_products(struct graph *g);
/* Such sums as the least of both ways, which are equal but for roundings: the other product may be
 * rounded to 16 bits before. For bounds. */
struct graph *graph_sums_either_way(struct graph *g);
/* Is node n a product of 16 bits, shallow and of more elements than it is made of, behind which
 * stands another one? In a kernel with that it is nowhere in memory. Of a large graph it takes a
 * while. */
bool graph_is_between(const struct graph *g, node_id n);

/* work.c: how many elements the operators of g read or make, a product's once for each of its
 * terms. Needs: constant sizes. */
double graph_work(const struct graph *g);

/* bound.c: how far off a computation of g in its own types may be. Returns a graph of g's inputs
 * that yields, for each output of g, a f64 tensor of its shape: no element of a right result is
 * further from the exact one; infinite where nothing can be said. See bound.c for what is counted.
 * Needs: a decomposed graph (landings may be left) of constant sizes. */
struct rounding {
    enum device_kind device; /* whose functions */
    bool stores; /* any value may have been stored in its type; else what is stored are the outputs,
                    and what a matrix product reads */
    bool doubles; /* of the reference: how far two computations of it may be apart */
};
struct graph *graph_bound(const struct graph *g, struct rounding how);

/* eval.c: the reference. Computes every output in double precision, slowly and obviously, with
 * OpenMP over elements. inputs[i] are the dense row-major values of graph.inputs[i]; sizes must be
 * constant. Leaves are exact: values are first rounded to the dtype of the input or created tensor;
 * casts round, and integers that become floats; everything else is unrounded double. Integers are
 * computed as such, in 64 bits, and wrap to their type. Composite operators have their own obvious
 * loops here, so that the decompositions are checked, not repeated. */
struct value {
    /* malloc'ed, row-major, meta_numel elements; the caller frees */
    double *v; /* of floats; of an integer input, too, if w is NULL */
    int64_t n;
    int64_t *w; /* of integers and bools */
};
/* Memory for n elements of type d; NULL: there is none. */
bool value_alloc(struct value *v, enum dtype d, int64_t n);
void value_free(struct value *v);
/* Element i, whichever it holds. */
double value_number(const struct value *v, int64_t i);
bool graph_eval(const struct graph *g, const struct value *inputs, struct value *outputs,
                struct diag *d);

/* The same, for whoever has no room for all outputs at once: output i is given away, to be freed by
 * who takes it, as soon as nothing else reads it. False of `take`, which has said why, ends it. */
struct value_taker {
    bool (*take)(void *ctx, uint32_t i, struct value v, struct diag *d);
    void *ctx;
};
bool graph_eval_each(const struct graph *g, const struct value *inputs,
                     const struct value_taker *taker, struct diag *d);

/* The most memory that graph_eval takes at a time, beside its inputs; 0 if a size is symbolic. */
double graph_eval_bytes(const struct graph *g);

/* Random streams: element i of random tensor `index` under `seed`, counter-based (Philox 4x32-10),
 * so that any element can be made alone. */
double random_uniform(uint64_t seed, uint64_t index, uint64_t i); /* [0, 1) */
double random_normal(uint64_t seed, uint64_t index, uint64_t i);
/* The same for elements first .. first+n-1, several times faster. */
void random_uniforms(uint64_t seed, uint64_t index, uint64_t first, int64_t n, double *out);
void random_normals(uint64_t seed, uint64_t index, uint64_t first, int64_t n, double *out);

#endif
