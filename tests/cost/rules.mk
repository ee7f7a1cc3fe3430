# rules.mk: the cost model with numbers that can be changed, for scripts/cost_model.py. Included last by the Makefile.

COST_MODEL := tests/cost/cost_model

COST_OF_GPU := cost cost_gpu cost_scatter cost_products cost_chained

$(BUILD)/tests/cost/cost_open.c: $(COST_OF_GPU:%=compiler/kernel/%.c) tests/cost/open_numbers.py | $(BUILD)/deps.test
	@mkdir -p $(@D)
	@tests/cost/open_numbers.py $(filter %.c,$^) >$@.new && mv $@.new $@

$(BUILD)/tests/cost/cost_open.o: $(BUILD)/tests/cost/cost_open.c $(BUILD)/flags
	$(call say,cc)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# The copy comes first, so that the original is not taken from its archive.
$(BUILD)/$(COST_MODEL): $(BUILD)/$(COST_MODEL).o $(BUILD)/tests/cost/cost_open.o $(ARCHIVES) $(BUILD)/link
	$(call say,link)$(LINK) -o $@ $(filter %.o,$^) $(LINK_ALL) $(LIBS)

test test-long everything: $(BUILD)/$(COST_MODEL) # tests/run/cost_model.sh
run-cost_model: $(BUILD)/$(COST_MODEL)

-include $(BUILD)/$(COST_MODEL).d $(BUILD)/tests/cost/cost_open.d
