# Two commands do everything on a fresh Debian or Ubuntu machine with Python >= 3.11: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
# Commands of Debian packages that the real-tool tests compare with, and the interpreter's own venv module.
TOOLS := lscpu=util-linux unshare=util-linux mount=mount numactl=numactl lstopo-no-graphics=hwloc-nox

.PHONY: run test bench clean

# Where unprivileged namespaces are forbidden: make run RUNTIME=process.
RUNTIME ?= namespace

run: $(VENV)/ready
	tools/debian-packages $(TOOLS)
	$(VENV)/bin/numaproof machine show dgx-a100
	$(VENV)/bin/numaproof run --runtime $(RUNTIME) --out out single_numa multi_numa

# Where no Docker engine answers, root gets a private one for the run; without either, docker's tests say so and skip.
test: $(VENV)/ready $(VENV)/tox-ready
	tools/debian-packages $(TOOLS)
	[ "$$(id -u)" -ne 0 ] || tools/debian-packages dockerd=docker.io mmdebstrap=mmdebstrap
	$(VENV)/bin/python -m harness.runtimes.engine $(VENV)/bin/tox

bench: $(VENV)/ready
	tools/debian-packages $(TOOLS)
	$(VENV)/bin/python -m benchmarks

$(VENV)/python:
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || tools/debian-packages no-such-command=python3-venv
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/ready: $(VENV)/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --editable .
	@# Each machine of a run has a process that imports all of it: compiled once, by all cores, which pip does not do.
	$(VENV)/bin/python -m compileall -q -j 0 $(VENV)/lib harness fake_sysfs plugins_mock suites
	@touch $@

$(VENV)/tox-ready: $(VENV)/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'tox>=4.30,<5'
	@touch $@

clean:
	rm -rf $(VENV) .tox out
