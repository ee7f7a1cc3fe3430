/* prelude.c: the part of torch and of the standard library that is written in Python (prelude/),
 * run by our own VM.
 *
 * The files are put into the object as they are. Errors inside are shown at the user's call. From
 * module _warpsmith come refuse(), graph_break(), op() and the few others of builtins_torch.c. */
#include <string.h>

#include "capture/vm.h"

/* FILE(id, file): a 0-terminated text under the symbol ws_prelude_ID. Paths count from the root of
 * the project. */
#define FILES(FILE)                                                                                \
    FILE(torch, "torch.py")                                                                        \
    FILE(torch_tensor, "torch_tensor.py")                                                          \
    FILE(torch_nn, "torch_nn.py")                                                                  \
    FILE(torch_nn_functional, "torch_nn_functional.py")                                            \
    FILE(torch_nn_init, "torch_nn_init.py")                                                        \
    FILE(torch_cuda, "torch_cuda.py")                                                              \
    FILE(torch_nn_utils, "torch_nn_utils.py")                                                      \
    FILE(torch_optim, "torch_optim.py")                                                            \
    FILE(torch_dynamo, "torch_dynamo.py")                                                          \
    FILE(torch_backends, "torch_backends.py")                                                      \
    FILE(typing, "typing.py")                                                                      \
    FILE(functools, "functools.py")                                                                \
    FILE(dataclasses, "dataclasses.py")                                                            \
    FILE(itertools, "itertools.py")

#define FILE(id, file)                                                                             \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global ws_prelude_" #id "\n"                                                         \
            "ws_prelude_" #id ":\n"                                                                \
            ".incbin \"compiler/capture/prelude/" file "\"\n"                                      \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char ws_prelude_##id[];
FILES(FILE)
#undef FILE

const char *prelude_text(const char *module) {
    static const struct {
        const char *name, *text;
    } texts[] = {
        {"torch", ws_prelude_torch},
        {"torch._tensor", ws_prelude_torch_tensor},
        {"torch.nn", ws_prelude_torch_nn},
        {"torch.nn.functional", ws_prelude_torch_nn_functional},
        {"torch.nn.init", ws_prelude_torch_nn_init},
        {"torch.nn.parameter", "from _warpsmith import Parameter\n"},
        {"torch.cuda", ws_prelude_torch_cuda},
        {"torch.backends", ws_prelude_torch_backends},
        {"torch.nn.utils", ws_prelude_torch_nn_utils},
        {"torch.optim", ws_prelude_torch_optim},
        {"torch._dynamo", ws_prelude_torch_dynamo},
        {"torch.compiler", "from torch._dynamo import reset, disable\n"},
        {"torch.autograd",
         "from _warpsmith import grad as _grad\n"
         "def grad(outputs, inputs, grad_outputs=None, **options):\n"
         "    one = not isinstance(inputs, (list, tuple))\n"
         "    return _grad(outputs, [inputs] if one else list(inputs), grad_outputs)\n"},
        {"typing", ws_prelude_typing},
        {"functools", ws_prelude_functools},
        {"itertools", ws_prelude_itertools},
        {"dataclasses", ws_prelude_dataclasses},
        {"collections", "OrderedDict = dict\n"},
        {"os", "environ = {}\n"
               "def getenv(key, default=None):\n"
               "    return environ.get(key, default)\n"},
        {"sys", "argv = path = []\n"
                "maxsize = 9223372036854775807\n"},
        {"time", "from _warpsmith import clock as time\n"
                 "perf_counter = monotonic = time\n"
                 "def sleep(seconds):\n"
                 "    pass\n"},
        {"__future__", "annotations = None\n"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].name, module)) return texts[i].text;
    return NULL;
}
