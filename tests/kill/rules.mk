# rules.mk: kills. Included by the Makefile. Not part of `make test`: 100 kills take some 10 minutes.

N ?= 100
kill-test: $(BUILD)/warpsmith ## kill bench again and again, and see what is left: N=100 [SEED=1]
	@tests/kill/kill_test.py $< --n $(N) --seed $(SEED) --out $(BUILD)/kills.csv

.PHONY: kill-test
