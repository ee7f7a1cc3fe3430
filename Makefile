# Makefile: build, test, bench. `make help` lists the targets.
#
# One static archive per folder, linked in the order of the layers: a folder that used something to its right would
# not link in its unit test. Objects are rebuilt when a header (-MMD) or the flags (a stamp) changed, archives when
# a file came or went (the folder's time).

CC      ?= cc
CFLAGS  ?= -O2 -g
LDFLAGS ?=
STATIC  ?= 0
BUILD   ?= build
PREFIX  ?= /usr/local
export BUILD DEPS

# As many jobs as cores, unless the caller said how many.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc) --no-print-directory
endif
.SUFFIXES:
ifneq ($(V),1)
say = @echo '  $(1) $(patsubst $(BUILD)/%,%,$@)';
endif

LAYERS  := base frontend graph capture loop schedule kernel tile emit runtime
ALL_CFLAGS = -std=gnu11 -Wall -Wextra -Werror -Wmissing-prototypes -Wno-unused-parameter -fno-strict-aliasing -fopenmp \
             -Icompiler -I. $(CFLAGS)

# Extra flags of one folder are called EXTRA_<folder>. CUDA's headers are optional, so the code asks __has_include.
CUDA_HEADER := $(firstword $(wildcard $(CUDA_HOME:%=%/include/cuda.h) /usr/local/cuda/include/cuda.h \
                 /usr/include/cuda.h .venv/lib/python3*/site-packages/nvidia/*/include/cuda.h))
CUDA_INCLUDE := $(patsubst %/,-isystem %,$(dir $(CUDA_HEADER)) \
                  $(dir $(wildcard $(dir $(CUDA_HEADER))../extras/CUPTI/include/cupti.h)))
EXTRA_cuda   := $(CUDA_INCLUDE)
# Random numbers are the same everywhere (graph/random_maths.h).
EXTRA_graph  := -ffp-contract=off

ifeq ($(STATIC),1)
# Everything but libc itself: dlopen of the driver needs the dynamic one.
LINK_FLAGS = -static-libgcc
LIBS = -Wl,-Bstatic -lcsv -ljansson -lsqlite3 -lxxhash -lgomp -Wl,-Bdynamic -lm -ldl -lpthread
else
LINK_FLAGS = -fopenmp
LIBS = -lcsv -ljansson -lsqlite3 -lxxhash -lm -ldl -lpthread
endif
LINK = $(CC) $(CFLAGS) $(LINK_FLAGS) $(LDFLAGS)

srcs     = $(sort $(wildcard compiler/$(1)/*.c compiler/$(1)/*/*.c))
objs     = $(patsubst %.c,$(BUILD)/%.o,$(1))
COMPILER_SRC := $(sort $(wildcard compiler/*.c))
TUNER_SRC    := $(sort $(wildcard tuner/*.c tuner/*/*.c))
REPORTS_SRC  := $(sort $(wildcard reports/*.c))
UNIT         := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BINS    := $(UNIT:%.c=$(BUILD)/%)
DEVICE_BINS  := $(addprefix $(BUILD)/tests/device/device_,smoke counters isolation map generated reference)

ARCHIVES := $(BUILD)/libcompile.a $(foreach l,$(LAYERS),$(BUILD)/lib$(l).a)
# Right to left, so that each archive's needs follow it; a group, because capture and graph may call each other's data.
LINK_ALL  = -Wl,--start-group $(ARCHIVES) -Wl,--end-group

##@ Use

all: $(BUILD)/warpsmith ## build the warpsmith command

# Where a name is given without .py, it is a file of workloads/.
bench_file = $(if $(filter %.py,$(WORKLOAD)),$(WORKLOAD),workloads/$(WORKLOAD).py)
bench: $(BUILD)/warpsmith ## tune and time: WORKLOAD=softmax [DEVICE=cuda:0|cpu] [DTYPE=bf16] [PRECISION=strict|f32|tf32] [D="dim=8192 rows=4"] [MODE=fwd|bwd|train]
	@$(if $(WORKLOAD),,echo 'which workload? make bench WORKLOAD=NAME, with NAME one of:' \
	    $(sort $(patsubst workloads/%.py,%,$(wildcard workloads/*.py workloads/*/*.py))) >&2; exit 2)
	@$< bench $(bench_file) $(DEVICE:%=--device %) $(DTYPE:%=--dtype %) $(PRECISION:%=--precision %) $(D:%=-D %) $(MODE:%=--mode %) $(ARGS)

report: $(BUILD)/warpsmith ## tables, figures and HTML from the results so far
	@$< report $(ARGS)

compare: $(BUILD)/warpsmith ## two results against each other: BASE=old.csv NEW=new.csv
	@$(if $(and $(BASE),$(NEW)),,echo 'compare what? make compare BASE=old.csv NEW=new.csv' >&2; exit 2)
	@$< compare --base $(BASE) --new $(NEW) $(ARGS) || { code=$$?; \
	    echo "make compare: exit code $$code, which make makes 2 of: $< compare itself keeps it" >&2; exit $$code; }

nightly: $(BUILD)/warpsmith ## what a nightly job runs: bench everything, compare with the last night
	@scripts/nightly.sh $(ARGS) || { code=$$?; \
	    echo "make nightly: exit code $$code, which make makes 2 of: scripts/nightly.sh itself keeps it" >&2; exit $$code; }

deps: ## install what is missing; DEPS=check: also what make check needs, DEPS=0: never
	@scripts/deps.sh $(if $(filter check,$(DEPS)),check,test)

##@ Test

test: $(UNIT_BINS) $(BUILD)/warpsmith ## all tests that need no GPU
	@scripts/run-tests.sh $(UNIT_BINS) tests/run

test-long: $(UNIT_BINS) $(BUILD)/warpsmith ## the same with all cases of the generated kernels, some 20 minutes of two cores
	@TEST_LONG=1 TEST_SECONDS=3600 scripts/run-tests.sh $(UNIT_BINS) tests/run

# LEFT_OUT: tests that are neither built nor run.
test-unit: $(filter-out $(LEFT_OUT:%=$(BUILD)/tests/unit/%),$(UNIT_BINS)) ## the unit tests alone
	@scripts/run-tests.sh $^

test-device: device-programs ## the tests that need a GPU
	@JOBS=1 scripts/run-tests.sh tests/device

# Where the tests run on a machine that cannot build: make STATIC=1 device-programs, carry the build folder there, and
# BUILD=... JOBS=1 scripts/run-tests.sh tests/device
device-programs: $(BUILD)/warpsmith $(DEVICE_BINS) ## what test-device runs

unit-%: $(BUILD)/tests/unit/test_% ## one unit test, e.g. make unit-base_expr
	$<

run-%: $(BUILD)/warpsmith | $(BUILD)/deps.test ## one run test, e.g. make run-check_includes
	@scripts/run-tests.sh tests/run/$*.sh

coverage: ## lines run by the tests, per folder
	+@scripts/coverage.sh

mutate: everything ## how many small mistakes the tests catch: N=60 [SEED=1 JOBS= SECONDS= ONLY=compiler/capture LEAST=90]
	@scripts/mutate.py --n $(or $(if $(filter-out file,$(origin N)),$(N)),60) $(SEED:%=--seed %) $(JOBS:%=--jobs %) $(SECONDS:%=--seconds %) $(ONLY:%=--only %) \
	    $(LEAST:%=--least %) $(CSV:%=--csv %)

##@ Check

CHECKS := includes comments format cppcheck gcc clang sanitizers
check: ## everything below; CI runs it
	@$(MAKE) --keep-going $(CHECKS:%=check-%)
	@echo 'check: all fine'

check-includes: ## who may include whom (scripts/check-includes.sh)
	@scripts/check-includes.sh

check-comments: ## lists in comments are laid out as lists (scripts/check-comments.sh)
	@scripts/check-comments.sh

check-format: | $(BUILD)/deps.check ## clang-format changes nothing
	@scripts/check-format.sh

check-cppcheck: | $(BUILD)/deps.check ## cppcheck finds nothing
	@scripts/check-cppcheck.sh

check-page: $(BUILD)/warpsmith ## the report's pages in a browser, where there is chromium; not part of check (scripts/check-page.sh)
	@scripts/check-page.sh

# Where the compiler in use is gcc, the build that the tests use is asked. Clang warns while it reads: it need not
# generate code.
gcc_is_cc := $(filter $(realpath $(shell command -v gcc)),$(realpath $(shell command -v $(CC))))
check-gcc: | $(BUILD)/deps.check ## builds without a warning, with gcc
	@$(MAKE) $(if $(gcc_is_cc),,CC=gcc CFLAGS=-O1 BUILD=$(BUILD)/gcc STATIC=0) everything

check-clang: | $(BUILD)/deps.check ## and with clang
	@$(MAKE) CC=clang CFLAGS=-fsyntax-only BUILD=$(BUILD)/clang STATIC=0 objects

check-sanitizers: | $(BUILD)/deps.check ## unit tests under the address and undefined-behaviour sanitizers
	+@scripts/check-sanitizers.sh

format: | $(BUILD)/deps.check ## let clang-format rewrite the sources
	@scripts/check-format.sh --fix

##@ Other

everything: $(BUILD)/warpsmith $(UNIT_BINS) $(DEVICE_BINS)

# The hand-written part of CUDA's ABI is compared with the real headers where they are installed.
CUDA_HOME ?= /usr/local/cuda
EXTRA_unit = $(addprefix -idirafter ,$(wildcard $(CUDA_HOME)/include))

device-smoke: $(BUILD)/tests/device/device_smoke ## does the runtime work on this GPU? Run it first on a new machine
	$<

$(patsubst %,$(BUILD)/tests/device/device_%,smoke counters isolation map): %: %.o $(BUILD)/libruntime.a $(BUILD)/libbase.a
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(filter-out -lcsv -ljansson -lsqlite3,$(LIBS))

# libfuzz.a has the cases, and wants the emulator.
$(patsubst %,$(BUILD)/tests/device/device_%,generated reference): %: %.o $(BUILD)/libfuzz.a $(BUILD)/libemulator.a $(ARCHIVES)
	$(LINK) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@awk '/^##@/ { print substr($$0, 5) ":" } \
	    /^[a-z% -]+:.*## / { split($$0, h, ":.*## "); printf "  %-16s %s\n", h[1], h[2] }' Makefile scripts/install.mk

.PHONY: all check-page mutate bench report compare nightly deps test test-long test-unit test-device device-programs coverage check $(CHECKS:%=check-%) \
        format everything clean help
.SECONDARY:

# ---------------------------------------------------------------------------------------------------------------------
# How things are built

# Stamps. The dependencies are looked at once per build folder; DEPS=0 leaves no stamp.
$(BUILD)/deps.%: scripts/deps.sh
	@mkdir -p $(@D)
	@scripts/deps.sh $* && { [ "$$DEPS" = 0 ] || touch $@; }
$(BUILD)/deps.test: | $(BUILD)/deps.build
$(BUILD)/deps.check: | $(BUILD)/deps.test

# build/flags and build/link hold the flags of the last build and are written only when those change.
define stamp
ifneq ($$(file <$(BUILD)/$(1)),$$(strip $(2)))
$$(shell mkdir -p $(BUILD))$$(file >$(BUILD)/$(1),$$(strip $(2)))
endif
endef
ifneq ($(MAKECMDGOALS),clean)
$(eval $(call stamp,flags,$(CC) $(ALL_CFLAGS) $(EXTRA_cuda) $(EXTRA_graph)))
$(eval $(call stamp,link,$(LINK) $(LIBS)))
$(eval $(call stamp,git_rev,$(shell git rev-parse --short=12 HEAD 2>/dev/null)))
$(eval $(call stamp,place,$(CURDIR)))
endif
$(BUILD)/flags $(BUILD)/link $(BUILD)/git_rev $(BUILD)/place: ;

$(BUILD)/%.o: %.c $(BUILD)/flags | $(BUILD)/deps.build
	@mkdir -p $(dir $@)
	$(call say,cc)$(CC) $(ALL_CFLAGS) $(EXTRA_$(notdir $(patsubst %/,%,$(dir $<)))) -MMD -MP -c $< -o $@ $(and $(READ_ONLY),&& touch $@)

# The commit that a binary is made of goes into every result row.
$(BUILD)/tuner/version.o: $(BUILD)/git_rev
$(BUILD)/tuner/version.o: EXTRA_tuner = -DWS_GIT_REV='"$(file <$(BUILD)/git_rev)"'

# `scripts/deps.sh cuda` installs NVRTC and CUPTI here, and here the program looks for them, wherever it is run.
$(BUILD)/compiler/runtime/cuda/library.o: $(BUILD)/place
$(BUILD)/compiler/runtime/cuda/library.o: EXTRA_cuda = $(CUDA_INCLUDE) -DWS_WHEELS='"$(CURDIR)/.venv"'

$(UNIT:%.c=$(BUILD)/%.o): | $(BUILD)/deps.test
# no_cpp/string is an empty <string>, for a header of CUPTI that is not C-clean.
$(BUILD)/tests/unit/test_runtime_%.o: EXTRA_unit = $(CUDA_INCLUDE) -Itests/unit/no_cpp
$(BUILD)/compiler/capture/prelude.o: $(wildcard compiler/capture/prelude/*.py)

# archive NAME, SOURCES, FOLDERS: a folder's time changes when a file comes or goes.
define archive_rule
$(BUILD)/lib$(1).a: $(call objs,$(2)) $(wildcard $(3))
	@mkdir -p $$(@D); rm -f $$@
	@ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach l,$(LAYERS),$(eval $(call archive_rule,$(l),$(call srcs,$(l)),compiler/$(l)/ compiler/$(l)/*/)))
$(eval $(call archive_rule,compile,$(COMPILER_SRC),compiler/))
$(eval $(call archive_rule,tuner,$(filter-out tuner/main.c,$(TUNER_SRC)),tuner/ tuner/*/))
$(eval $(call archive_rule,reports,$(REPORTS_SRC),reports/))
$(BUILD)/reports/gnuplot.o: $(sort $(wildcard reports/*.gp)) # it carries the figure scripts
$(BUILD)/reports/page.o: reports/page.css reports/page.js

$(BUILD)/warpsmith: $(BUILD)/tuner/main.o $(BUILD)/libtuner.a $(BUILD)/libreports.a $(ARCHIVES) $(BUILD)/link
	$(call say,link)$(LINK) -o $@ $(filter %.o,$^) $(BUILD)/libtuner.a $(BUILD)/libreports.a $(LINK_ALL) $(LIBS)

# Unit tests: tests/unit/test_<layer>_<what>.c is linked with that layer and those to its left only
# (layer "compile": the whole compiler, the emulator and the fuzzer's parts; "tuner": everything of these and the tuner; "reports": reports alone).
upto  = $(if $(filter $(1),$(LAYERS)),$(call upto_,$(1),$(LAYERS)))
upto_ = $(firstword $(2)) $(if $(filter-out $(1),$(firstword $(2))),$(call upto_,$(1),$(wordlist 2,99,$(2))))
unit_layer = $(word 2,$(subst _, ,$(basename $(notdir $(1)))))
unit_libs  = $(if $(filter reports,$(1)),$(BUILD)/libreports.a,\
             $(if $(filter tuner,$(1)),$(BUILD)/libtuner.a $(BUILD)/libreports.a $(ARCHIVES) $(BUILD)/libfuzz.a $(BUILD)/libemulator.a,\
             $(if $(filter compile,$(1)),$(ARCHIVES) $(BUILD)/libfuzz.a $(BUILD)/libemulator.a,$(foreach l,$(call upto,$(1)),$(BUILD)/lib$(l).a))))

define unit_rule
$(BUILD)/$(1:.c=): $(BUILD)/$(1:.c=.o) $(2) $(BUILD)/link
	$$(if $(strip $(2)),,$$(error $(1) is named after no layer: test_<layer>_<what>.c))
	$$(call say,link)$$(LINK) -o $$@ $$< -Wl,--start-group $(2) -Wl,--end-group -lcmocka $$(LIBS)
endef
$(foreach t,$(UNIT),$(eval $(call unit_rule,$(t),$(call unit_libs,$(call unit_layer,$(t))))))

-include $(patsubst %.c,$(BUILD)/%.d,$(foreach l,$(LAYERS),$(call srcs,$(l))) \
           $(COMPILER_SRC) $(TUNER_SRC) $(REPORTS_SRC) $(UNIT))

include scripts/install.mk
# libemulator.a and libfuzz.a, and their tests.
include tests/emulator/rules.mk
include tests/fuzz/rules.mk
include tests/lookup/rules.mk
include tests/cost/rules.mk
include tests/kill/rules.mk

# Every source, compiled and not linked: linking says no more of a second compiler. With -fsyntax-only an object is a stamp.
READ_ONLY := $(filter -fsyntax-only,$(CFLAGS))
objects: $(call objs,$(foreach l,$(LAYERS),$(call srcs,$(l))) $(COMPILER_SRC) $(TUNER_SRC) $(REPORTS_SRC) $(FUZZ_SRC) $(BYTES_SRC) \
    $(EMULATOR_SRC)) $(patsubst %,%.o,$(UNIT_BINS) $(DEVICE_BINS) $(BUILD)/$(COST_MODEL) $(BUILD)/$(LOOKUP_BENCH) $(BUILD)/$(FUZZ)/run_python)
.PHONY: objects

# The prelude files are in the binary (.incbin).
$(BUILD)/compiler/emit/prelude.o: $(wildcard compiler/emit/prelude/*.cuh) compiler/emit/prelude_c.h compiler/emit/prelude_vector.h \
    compiler/graph/ref_maths.h compiler/graph/random_maths.h compiler/emit/prelude_plain.h
$(BUILD)/compiler/runtime/cuda/kernels.o: compiler/runtime/cuda/helpers.cu
