# Two commands do everything on a fresh Debian or Ubuntu machine with Python >= 3.11: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
QUIETLY := -qq --disable-pip-version-check
# Commands of Debian packages that namespaces are made with and that views are compared with.
TOOLS := lscpu=util-linux unshare=util-linux mount=mount numactl=numactl lstopo-no-graphics=hwloc-nox

# Debian's packages come while pip works.
MAKEFLAGS += --jobs=2

.PHONY: run test bench clean tools engine browser shells

# Where unprivileged namespaces are forbidden: make run RUNTIME=process.
RUNTIME ?= namespace

run: $(VENV)/ready tools
	@$(VENV)/bin/numaproof run --runtime $(RUNTIME) --out out single_numa multi_numa

# Where no Docker engine answers, root gets a private one for the run; without either, docker's tests say so and skip.
test: $(VENV)/ready $(VENV)/tox-ready tools engine browser shells
	$(VENV)/bin/python -m numaproof.harness.runtimes.engine $(VENV)/bin/tox

bench: $(VENV)/ready tools
	$(VENV)/bin/python -m benchmarks

tools:
	@tools/debian-packages $(TOOLS)

engine:
	[ "$$(id -u)" -ne 0 ] || tools/debian-packages dockerd=docker.io mmdebstrap=mmdebstrap

# What pages are looked at with; where chromium or npm cannot be had, the tests that need them say so and skip.
browser:
	[ "$$(id -u)" -ne 0 ] || tools/debian-packages chromium=chromium
	[ -e node_modules/axe-core ] || ! command -v npm >/dev/null || npm install --silent --no-save --no-audit --no-fund axe-core@4

# What completes the command line; where they cannot be had, the tests that need them say so and skip.
shells:
	[ "$$(id -u)" -ne 0 ] || tools/debian-packages zsh=zsh fish=fish

# The host's pip fetches a current one in less time than the bundled one takes to be set up, and that one is faster.
# Where there is no such pip (Debian has it in a package), the bundled one does.
$(VENV)/python:
	@echo "numaproof and what it needs are installed into $(VENV) ..."
	@$(PYTHON) -m venv --without-pip $(VENV)
	@$(PYTHON) -m pip --python $(VENV)/bin/python install $(QUIETLY) --no-compile pip 2>/dev/null || \
	  $(VENV)/bin/python -m ensurepip 2>/dev/null || \
	  { tools/debian-packages no-such-command=python3-venv && $(VENV)/bin/python -m ensurepip; }
	@touch $@

$(VENV)/ready: $(VENV)/python pyproject.toml
	@$(VENV)/bin/python -m pip install $(QUIETLY) --no-compile --editable .
	@# Many processes of a run import it: compiled once, by all cores, which pip does not do, but for what no run imports.
	@$(VENV)/bin/python -m compileall -q -j 0 -x 'site-packages/(pip|pygments)/' $(VENV)/lib numaproof harness fake_sysfs plugins_mock
	@touch $@

$(VENV)/tox-ready: $(VENV)/ready
	$(VENV)/bin/python -m pip install $(QUIETLY) 'tox>=4.30'
	@touch $@

clean:
	rm -rf $(VENV) .tox out site node_modules
