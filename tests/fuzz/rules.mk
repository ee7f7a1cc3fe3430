# rules.mk: the fuzzers. Included by the Makefile after the emulator's: their tests join the unit tests.
#
# libfuzz.a holds what they share; a program has its own main().

FUZZ         := tests/fuzz
FUZZ_SRC     := $(addprefix $(FUZZ)/,drive.c)

$(eval $(call archive_rule,fuzz,$(FUZZ_SRC),$(FUZZ)/))

-include $(patsubst %.c,$(BUILD)/%.d,$(wildcard $(FUZZ)/*.c))
