# Makefile: build, test, bench. `make help` lists the targets.
#
# One static archive per folder, linked in the order of the layers: a folder that used something to its right would
# not link in its unit test.

CC      ?= cc
CFLAGS  ?= -O2 -g
STATIC  ?= 0
BUILD   ?= build

LAYERS  := base frontend graph capture loop schedule kernel emit runtime
ALL_CFLAGS = -std=gnu11 -Wall -Wextra -Werror -Wmissing-prototypes -Wno-unused-parameter -fno-strict-aliasing -fopenmp \
             -Icompiler -I. $(CFLAGS)

srcs     = $(sort $(wildcard compiler/$(1)/*.c compiler/$(1)/*/*.c))
objs     = $(patsubst %.c,$(BUILD)/%.o,$(1))
COMPILER_SRC := $(sort $(wildcard compiler/*.c))
TUNER_SRC    := $(sort $(wildcard tuner/*.c tuner/*/*.c))
REPORTS_SRC  := $(sort $(wildcard reports/*.c))

ARCHIVES := $(BUILD)/libcompile.a $(foreach l,$(LAYERS),$(BUILD)/lib$(l).a)
# Right to left, so that each archive's needs follow it; a group, because capture and graph may call each other's data.
LINK_ALL  = -Wl,--start-group $(ARCHIVES) -Wl,--end-group

ifeq ($(STATIC),1)
LIBS = -Wl,-Bstatic -lcsv -lsqlite3 -lxxhash -Wl,-Bdynamic -lm -ldl -lpthread
else
LIBS = -lcsv -lsqlite3 -lxxhash -lm -ldl -lpthread
endif

all: $(BUILD)/warpsmith ## build the warpsmith command

-include scripts/targets.mk

$(BUILD)/%.o: %.c
	@mkdir -p $(dir $@)
	$(CC) $(ALL_CFLAGS) $(EXTRA_$(notdir $(patsubst %/,%,$(dir $<)))) -MMD -MP -c $< -o $@

define layer_rule
$(BUILD)/lib$(1).a: $(call objs,$(call srcs,$(1)))
	@rm -f $$@; mkdir -p $$(dir $$@)
	@ar rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rule,$(l))))

$(BUILD)/libcompile.a: $(call objs,$(COMPILER_SRC))
	@rm -f $@; ar rcs $@ $^

$(BUILD)/libtuner.a: $(call objs,$(filter-out tuner/main.c,$(TUNER_SRC)))
	@rm -f $@; ar rcs $@ $^

$(BUILD)/libreports.a: $(call objs,$(REPORTS_SRC))
	@rm -f $@; ar rcs $@ $^

$(BUILD)/warpsmith: $(call objs,tuner/main.c) $(BUILD)/libtuner.a $(BUILD)/libreports.a $(ARCHIVES)
	$(CC) $(ALL_CFLAGS) -o $@ $(call objs,tuner/main.c) $(BUILD)/libtuner.a $(BUILD)/libreports.a $(LINK_ALL) $(LIBS)

# Unit tests: tests/unit/test_<layer>_<what>.c is linked with that layer and those to its left only
# (layer "compile": the whole compiler; "tuner": everything; "reports": reports alone).
UNIT := $(sort $(wildcard tests/unit/test_*.c))
upto  = $(if $(filter $(1),$(LAYERS)),$(call upto_,$(1),$(LAYERS)))
upto_ = $(firstword $(2)) $(if $(filter-out $(1),$(firstword $(2))),$(call upto_,$(1),$(wordlist 2,99,$(2))))
unit_layer = $(word 2,$(subst _, ,$(notdir $(1))))
unit_libs  = $(if $(filter reports,$(1)),$(BUILD)/libreports.a,\
             $(if $(filter tuner,$(1)),$(BUILD)/libtuner.a $(BUILD)/libreports.a $(ARCHIVES),\
             $(if $(filter compile,$(1)),$(ARCHIVES),$(foreach l,$(call upto,$(1)),$(BUILD)/lib$(l).a))))

define unit_rule
$(BUILD)/$(patsubst %.c,%,$(1)): $(BUILD)/$(patsubst %.c,%.o,$(1)) $(call unit_libs,$(call unit_layer,$(1)))
	$$(CC) $$(ALL_CFLAGS) -o $$@ $$< -Wl,--start-group $(call unit_libs,$(call unit_layer,$(1))) -Wl,--end-group \
	    -lcmocka $$(LIBS)
endef
$(foreach t,$(UNIT),$(eval $(call unit_rule,$(t))))

unit-%: $(BUILD)/tests/unit/test_% ## run one unit test, e.g. make unit-base_expr
	$<

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile scripts/targets.mk 2>/dev/null | sed 's/:.*## /\t/' | expand -t 16

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: all clean help
.SECONDARY:
