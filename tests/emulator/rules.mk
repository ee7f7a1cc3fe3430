# rules.mk: the emulator that runs generated CUDA text on the CPU, its tests and its benchmark. Included last by the
# Makefile: the tests join the unit tests.

EMULATOR      := tests/emulator
EMULATOR_TEST := $(sort $(wildcard $(EMULATOR)/test_*.c))
EMULATOR_BINS := $(EMULATOR_TEST:%.c=$(BUILD)/%)
EMULATOR_SRC  := $(filter-out $(EMULATOR)/test_% $(EMULATOR)/bench_%,$(sort $(wildcard $(EMULATOR)/*.c)))
EMULATOR_LIBS := $(BUILD)/libemulator_own.a $(BUILD)/libbase.a $(BUILD)/libemit.a
# A hook's frame, which tells the line, must be there as long as the hook runs.
EXTRA_emulator = $(if $(filter -O2,$(CFLAGS)),-O3) -fno-optimize-sibling-calls -DEMU_DIR='"$(CURDIR)/$(EMULATOR)"'
UNIT_BINS     += $(EMULATOR_BINS)

# Its own tests link libemulator_own.a. Under the sanitizers that alone is built with them: all others, whose kernels run
# on it, are after mistakes in what has made these, and the emulator took most of their time.
$(eval $(call archive_rule,emulator_own,$(EMULATOR_SRC),$(EMULATOR)/))
ifeq ($(findstring -fsanitize=,$(CFLAGS)),)
$(BUILD)/libemulator.a: $(BUILD)/libemulator_own.a
	@ln -f $< $@
else
$(BUILD)/unsanitized/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,cc)$(CC) $(ALL_CFLAGS) $(EXTRA_emulator) -O3 -fno-sanitize=all -MMD -MP -c $< -o $@
$(BUILD)/libemulator.a: $(EMULATOR_SRC:%.c=$(BUILD)/unsanitized/%.o) $(EMULATOR)/
	@rm -f $@; ar rcs $@ $(filter %.o,$^)
-include $(EMULATOR_SRC:%.c=$(BUILD)/unsanitized/%.d)
endif

# Needs what only the tests need (cmocka, g++).
$(EMULATOR_TEST:%.c=$(BUILD)/%.o): | $(BUILD)/deps.test

define emulator_rule
$(BUILD)/$(1): $(BUILD)/$(1).o $(EMULATOR_LIBS) $(BUILD)/link
	$$(call say,link)$$(LINK) -o $$@ $$< $(EMULATOR_LIBS) $(2) $$(LIBS)
endef
$(foreach t,$(EMULATOR_TEST:%.c=%),$(eval $(call emulator_rule,$(t),-lcmocka)))
$(eval $(call emulator_rule,$(EMULATOR)/bench_fiber,))

test test-long test-unit everything: $(EMULATOR_BINS)

emulator-%: $(BUILD)/$(EMULATOR)/test_% ## one test of the emulator, e.g. make emulator-bugs
	$<

# The tests that run generated CUDA.
PROVEN := generated edges gradients move

# What it costs, and how many cases are proven: rows in reports/samples/emulator.csv.
emulator-bench: $(BUILD)/$(EMULATOR)/bench_fiber $(addprefix $(BUILD)/tests/unit/test_compile_,$(PROVEN)) ## cost of the emulator, cases a second
	@PROVEN="$(PROVEN)" $(EMULATOR)/bench.sh

test-emulator: $(EMULATOR_BINS) ## the tests of the emulator alone
	@scripts/run-tests.sh $(EMULATOR_BINS)

.PHONY: emulator-bench test-emulator

-include $(patsubst %.c,$(BUILD)/%.d,$(wildcard $(EMULATOR)/*.c))
