# rules.mk: the fuzzers. Included by the Makefile after the emulator's rules: their tests join the unit tests.
#
# libfuzz.a holds what they share; a program has its own main().

FUZZ         := tests/fuzz
FUZZ_SRC     := $(addprefix $(FUZZ)/,check.c drive.c found.c gen.c gen_fit.c gen_tensor.c judge.c safely.c shrink.c)
FUZZ_LIBS    := $(BUILD)/libfuzz.a $(BUILD)/libemulator.a

$(eval $(call archive_rule,fuzz,$(FUZZ_SRC),$(FUZZ)/))

$(BUILD)/$(FUZZ)/graph_fuzz: $(BUILD)/$(FUZZ)/graph_fuzz.o $(FUZZ_LIBS) $(ARCHIVES) $(BUILD)/link
	$(call say,link)$(LINK) -o $@ $< $(FUZZ_LIBS) $(LINK_ALL) $(LIBS)

SECONDS ?= 60
SEED    ?= 1
fuzz: $(BUILD)/$(FUZZ)/graph_fuzz ## random graphs through the whole compiler: SECONDS=60 [SEED=1]
	@$< --seconds $(SECONDS) --seed $(SEED)

.PHONY: fuzz

-include $(patsubst %.c,$(BUILD)/%.d,$(wildcard $(FUZZ)/*.c))
