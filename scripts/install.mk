# install.mk: what `make install` puts where, and a Debian package of it. Included by the Makefile.
#
#   PREFIX/bin/warpsmith                     the command
#   PREFIX/share/warpsmith/                  workloads, scripts, the format of results
#   PREFIX/include/warpsmith/ws_backend.h    for a backend of torch.compile of one's own; lib/pkgconfig finds it
#   PREFIX/share/man, bash-completion, zsh, fish, doc
#
# DESTDIR stands before every path. `make uninstall` removes just these files, and folders that are empty then.

VERSION   = $(shell sed -n 's/^\#define WS_VERSION "\(.*\)"/\1/p' tuner/version.h)
WORKLOADS = $(wildcard workloads/*.py workloads/*/*.py)
SCRIPTS   = $(wildcard scripts/slurm/*.sh) $(addprefix scripts/,nightly.sh check_torch.sh script_head.sh \
            torch_peer.py torch_workload.py torch_check.py torch_flex.py)
DATA      = reports/columns.def scripts/suite.csv
DOCS      = README.md LICENSE $(wildcard docs/*.md docs/*/*.md)
SHARE     = share/warpsmith
COMPLETIONS = share/bash-completion/completions/warpsmith share/zsh/site-functions/_warpsmith \
              share/fish/vendor_completions.d/warpsmith.fish
INSTALLED = bin/warpsmith include/warpsmith/ws_backend.h lib/pkgconfig/warpsmith.pc share/man/man1/warpsmith.1 \
            $(COMPLETIONS) $(addprefix $(SHARE)/,$(WORKLOADS) $(SCRIPTS) $(DATA) build/warpsmith) \
            $(addprefix share/doc/warpsmith/,$(DOCS))
AT        = $(DESTDIR)$(PREFIX)

define pkgconfig
prefix=$(PREFIX)
includedir=$${prefix}/include/warpsmith

Name: warpsmith
Description: backends of torch.compile for warpsmith run
Version: $(VERSION)
Cflags: -I$${includedir}
endef

install: $(BUILD)/warpsmith ## put the command, its manual, completions, workloads and scripts under PREFIX (/usr/local)
	@for file in $(WORKLOADS) $(DATA); do install -D -m 644 $$file "$(AT)/$(SHARE)/$$file" || exit; done
	@for file in $(SCRIPTS); do install -D -m 755 $$file "$(AT)/$(SHARE)/$$file" || exit; done
	@for file in $(DOCS); do install -D -m 644 $$file "$(AT)/share/doc/warpsmith/$$file" || exit; done
	@install -D -m 755 $< "$(AT)/bin/warpsmith"
	@# where the scripts look for it
	@mkdir -p "$(AT)/$(SHARE)/build" && ln -sf ../../../bin/warpsmith "$(AT)/$(SHARE)/build/warpsmith"
	@install -D -m 644 compiler/ws_backend.h "$(AT)/include/warpsmith/ws_backend.h"
	@mkdir -p "$(AT)/lib/pkgconfig" $(foreach f,$(COMPLETIONS) share/man/man1/x,"$(AT)/$(dir $(f))")
	@printf '%s\n' '$(subst $(newline),' ',$(pkgconfig))' >"$(AT)/lib/pkgconfig/warpsmith.pc"
	@$< manual >"$(AT)/share/man/man1/warpsmith.1"
	@$< completion bash >"$(AT)/share/bash-completion/completions/warpsmith"
	@$< completion zsh >"$(AT)/share/zsh/site-functions/_warpsmith"
	@$< completion fish >"$(AT)/share/fish/vendor_completions.d/warpsmith.fish"
	@echo 'installed: $(AT)/bin/warpsmith; `warpsmith help` lists its commands'

define newline


endef

uninstall: ## take away what install put under PREFIX
	@for file in $(INSTALLED); do rm -f "$(AT)/$$file"; done
	@for file in $(INSTALLED); do (cd "$(AT)" 2>/dev/null && rmdir -p --ignore-fail-on-non-empty "$$(dirname $$file)" 2>/dev/null); done; true
	@echo 'uninstalled from $(AT)'

# The libraries that it is linked with, by the packages that own them, and what it runs: a C compiler, gnuplot.
deb: $(BUILD)/warpsmith ## a Debian package: build/warpsmith_VERSION_ARCH.deb
	+@BUILD=$(BUILD) VERSION=$(VERSION) scripts/make_deb.sh

.PHONY: install uninstall deb
