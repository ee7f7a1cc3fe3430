# rules.mk: the benchmark of lookups among stored ranges, for scripts/bench_lookup.sh. Included last by the Makefile.

LOOKUP_BENCH := tests/lookup/bench_lookup

$(BUILD)/$(LOOKUP_BENCH): $(BUILD)/$(LOOKUP_BENCH).o $(BUILD)/libtuner.a $(BUILD)/libreports.a $(ARCHIVES) $(BUILD)/link
	$(call say,link)$(LINK) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)

-include $(BUILD)/$(LOOKUP_BENCH).d
