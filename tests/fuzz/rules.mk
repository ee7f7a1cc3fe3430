# rules.mk: the fuzzers. Included by the Makefile after the emulator's rules: their tests join the unit tests.
#
# libfuzz.a holds what drives generated programs, graph_fuzz the rest of the graph fuzzer; the targets of the byte
# fuzzers are linked into a test and, with clang, into one libFuzzer program each.

FUZZ       := tests/fuzz
FUZZ_SRC   := $(addprefix $(FUZZ)/,cases_chained.c cases_convolutions.c cases_edges.c cases_gradients.c cases_loops.c cases_recurrences.c cases_move.c cases_panels.c \
                cases_phases.c cases_products.c cases_random.c cases_random_chained.c cases_random_products.c cases_run.c cases_shapes.c cases_tensor.c check.c drive.c drive_device.c \
                drive_emulator.c drive_steps.c found.c \
                gen.c gen_fit.c gen_move.c gen_tensor.c judge.c plain.c safely.c serial.c \
                shrink.c)
FUZZ_LIBS  := $(BUILD)/libfuzz.a $(BUILD)/libemulator.a
BYTES_SRC  := $(addprefix $(FUZZ)/,bytes.c bytes_files.c bytes_python.c bytes_text.c)
BYTES_LIBS := $(BUILD)/libbytes.a $(BUILD)/libtuner.a $(BUILD)/libreports.a
FUZZ_TEST  := $(sort $(wildcard $(FUZZ)/test_*.c))
FUZZ_BINS  := $(FUZZ_TEST:%.c=$(BUILD)/%)
UNIT_BINS  += $(FUZZ_BINS)

$(eval $(call archive_rule,fuzz,$(FUZZ_SRC),$(FUZZ)/))
$(eval $(call archive_rule,bytes,$(BYTES_SRC),$(FUZZ)/))

$(FUZZ_TEST:%.c=$(BUILD)/%.o): | $(BUILD)/deps.test

define fuzz_rule
$(BUILD)/$(FUZZ)/$(1): $(BUILD)/$(FUZZ)/$(1).o $(2) $(ARCHIVES) $(BUILD)/link
	$$(call say,link)$$(LINK) -o $$@ $$< $(2) $$(LINK_ALL) $(3) $$(LIBS)
endef
$(eval $(call fuzz_rule,graph_fuzz,$(FUZZ_LIBS),))
$(eval $(call fuzz_rule,test_graphs,$(FUZZ_LIBS),-lcmocka))
$(eval $(call fuzz_rule,test_gradients,$(FUZZ_LIBS),-lcmocka))
$(eval $(call fuzz_rule,test_bytes,$(BYTES_LIBS),-lcmocka))
$(eval $(call fuzz_rule,run_python,,))

test test-long test-unit everything: $(FUZZ_BINS)
test test-long everything: $(BUILD)/$(FUZZ)/run_python # tests/run/python_diff.sh
run-python_diff: $(BUILD)/$(FUZZ)/run_python

# ---- everything that a user may hand to the command, under the sanitizers, in a build folder of its own

SEED       ?= 1
FUZZ_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZED     := $(addprefix $(BUILD)/fuzz/,warpsmith $(FUZZ)/graph_fuzz tests/unit/test_capture_natives)
fuzz: | $(BUILD)/deps.test ## damaged files, programs, natives, graphs and stores: [SECONDS=600 SEED=1 JOBS= PARTS="graphs tables"]
	@$(MAKE) CFLAGS="$(FUZZ_FLAGS)" BUILD=$(BUILD)/fuzz STATIC=0 $(FUZZED)
	@$(FUZZ)/fuzz.py $(BUILD)/fuzz --seconds $(or $(SECONDS),600) --seed $(SEED) --counts $(BUILD)/fuzz.counts \
	    $(JOBS:%=--jobs %) $(if $(PARTS),--parts "$(PARTS)")

# ---- graphs

fuzz-graphs: $(BUILD)/$(FUZZ)/graph_fuzz ## random graphs through the whole compiler, without sanitizers: [SECONDS=60 SEED=1]
	@$< --seconds $(or $(SECONDS),60) --seed $(SEED) --counts $(BUILD)/fuzz.counts

fuzz-python: $(BUILD)/$(FUZZ)/run_python ## random expressions and programs, the VM against python3: [SEED=1]
	@python3 -W ignore $(FUZZ)/python_diff.py $< random $(SEED) 5000 --counts $(BUILD)/python.counts
	@python3 -W ignore $(FUZZ)/python_diff.py $< programs $(SEED) 5000 --counts $(BUILD)/python.counts

# ---- bytes, under libFuzzer and the sanitizers, in a build folder of their own. What crashes lands in the corpus, where
# test_bytes finds it.

BYTES       ?= python graph config expr csv checkpoint store
BYTES_SEEDS := python:tests/golden/capture python:tests/golden/frontend python:workloads graph:$(FUZZ)/found
BYTES_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
seeds_of     = $(FUZZ)/corpus/$(1) $(patsubst $(1):%,%,$(filter $(1):%,$(BYTES_SEEDS)))

fuzz-bytes: | $(BUILD)/deps.test ## arbitrary bytes through what reads files: SECONDS=30 for each [BYTES="python graph"]
	@if echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { return 0; }' | \
	    clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null; then \
	    $(MAKE) --keep-going CC=clang CFLAGS="$(BYTES_FLAGS)" BUILD=$(BUILD)/libfuzzer STATIC=0 $(BYTES:%=fuzz-bytes-%); \
	else echo 'fuzz-bytes: skipped: clang with libFuzzer is missing (libclang-rt-14-dev)'; fi

fuzz-bytes-%: $(BUILD)/$(FUZZ)/bytes_%
	@mkdir -p $(BUILD)/corpus/$*; log=$(BUILD)/corpus/$*.log; \
	ASAN_OPTIONS=detect_leaks=0 $< -max_total_time=$(or $(SECONDS),60) -timeout=60 -rss_limit_mb=4096 \
	    -artifact_prefix=$(FUZZ)/corpus/$*/found- -dict=$(FUZZ)/bytes.dict $(BUILD)/corpus/$* \
	    $(call seeds_of,$*) >$$log 2>&1 || { grep -E 'error:|SUMMARY|bug at|^    #.*(compiler|tuner|reports|tests)/|written to' $$log; exit 1; }; \
	echo "  $*: $$(tail -n 1 $$log)"

$(BUILD)/$(FUZZ)/bytes_%.fuzz.o: $(FUZZ)/bytes_fuzz.c $(FUZZ)/bytes.h $(BUILD)/flags
	@mkdir -p $(dir $@)
	$(call say,cc)$(CC) $(ALL_CFLAGS) -DTARGET=bytes_$* -c $< -o $@
$(BYTES:%=$(BUILD)/$(FUZZ)/bytes_%): $(BUILD)/$(FUZZ)/bytes_%: $(BUILD)/$(FUZZ)/bytes_%.fuzz.o $(BYTES_LIBS) $(ARCHIVES) $(BUILD)/link
	$(call say,link)$(LINK) -fsanitize=fuzzer -o $@ $< $(BYTES_LIBS) $(LINK_ALL) $(LIBS)

.PHONY: fuzz fuzz-graphs fuzz-python fuzz-bytes

-include $(patsubst %.c,$(BUILD)/%.d,$(wildcard $(FUZZ)/*.c))
