# What can be done here; every target works from a fresh checkout with a Rust toolchain, those with
# Python in them with a Python of version 3.10 or newer.

CARGO ?= cargo
PYTHON ?= python3
LABELWOOD = target/release/labelwood
# Property tests try the same cases in every run; `make test PROPTEST_RNG_SEED=2` tries others.
export PROPTEST_RNG_SEED ?= 1
MDBOOK_VERSION = 0.5.4
MDBOOK = $(shell command -v mdbook || echo target/tools/bin/mdbook)

.PHONY: help demo test mpirun strace test-rust test-python test-annif test-server test-page chromium choices serving-speed scale shards updates bench bench-peers bench-default bench-python torture reproduce reproduce-forests reproduce-table bench-tried lint docs settings python-settings release

help:
	@echo 'make demo    train, evaluate and predict on questions to a library'
	@echo 'make test    run all tests'
	@echo 'make test-server ask the service with the programs of others'
	@echo 'make test-page test the page that the server shows, in a browser'
	@echo 'make lint    check formatting, lints and documentation'
	@echo 'make settings, make python-settings write what is made from the tables of settings: Python and the guide'
	@echo 'make bench   measure speed'
	@echo 'make bench-peers measure labelwood against its peers; needs Python and the sets in LABELWOOD_DATA'
	@echo 'make bench-default measure what train does by default beside omikuji; needs the same'
	@echo 'make bench-python MODEL=... ROWS=... measure what calls from Python cost'
	@echo 'make torture train on hundreds of odd data sets, on several numbers of threads'
	@echo 'make reproduce, make reproduce-forests repeat the experiments of the papers; needs the same'
	@echo 'make reproduce-table compare all systems as the table of the CRAFTML paper does; needs the same'
	@echo 'make bench-tried measure what was left out: ML-kNN, LPSR, learned spaces; needs the same'
	@echo 'make docs    build the API documentation and the guide'

demo: release
	$(LABELWOOD) demo

release:
	$(CARGO) build --release --locked --package labelwood-cli

test: test-rust test-python test-annif test-server test-page

# Tests under mpirun are skipped without one; it is installed where that asks nobody.
mpirun:
	command -v mpirun >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
		apt-get install --yes --quiet --no-install-recommends openmpi-bin >/dev/null 2>&1 || \
		echo 'not installed: mpirun, its tests are skipped'

# Tests that kill an update at every system call are skipped without strace.
strace:
	command -v strace >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
		apt-get install --yes --quiet --no-install-recommends strace >/dev/null 2>&1 || \
		echo 'not installed: strace, its tests are skipped'

# nextest runs the tests of all crates side by side; it does not know doc tests.
test-rust: mpirun strace
	if $(CARGO) nextest --version >/dev/null 2>&1; \
	then $(CARGO) nextest run --locked --no-fail-fast; \
	else $(CARGO) test --locked --no-fail-fast --lib --bins --tests; \
	fi
	$(CARGO) test --locked --doc

# In a virtual environment of its own; some tests compare with the command, which is the one that the
# Rust tests have built. Not in python/, where the interpreters that tests start would take the sources
# for the package.
test-python: target/python/installed
	$(CARGO) test --locked --quiet --no-run
	cd target/python && LABELWOOD_COMMAND=$(CURDIR)/target/debug/labelwood \
		bin/pytest -c $(CURDIR)/python/pyproject.toml --quiet \
		--ignore $(CURDIR)/python/tests/test_annif.py $(CURDIR)/python/tests $(CURDIR)/docs/src/python.md --pyargs labelwood
	target/python/bin/pytest --quiet bench

# The package is built again when a source is newer; cargo keeps what it compiled in python/target.
target/python/installed: python/Cargo.toml python/pyproject.toml \
		$(shell find python/src python/labelwood crates/labelwood/src -type f -not -name '*.so' -not -name '*.pyc')
	test -x target/python/bin/python || $(PYTHON) -m venv target/python
	target/python/bin/pip install --quiet --disable-pip-version-check \
		--config-settings=build-args='--profile quick' './python[test]'
	target/python/bin/pip install --quiet --disable-pip-version-check pyarrow 'ray[data]>=2.9' || \
		echo 'Ray cannot be installed here: its tests are skipped'
	touch $@

# Annif asks for versions that other tests do not want, so it has an environment of its own.
test-annif: target/annif/installed
	cd target/annif && { ! test -x bin/annif || \
		bin/pytest -c $(CURDIR)/python/pyproject.toml --quiet $(CURDIR)/python/tests/test_annif.py; }

target/annif/installed: target/python/installed
	test -x target/annif/bin/python || $(PYTHON) -m venv target/annif
	target/annif/bin/pip install --quiet --disable-pip-version-check 'annif[omikuji]' pytest || \
		target/annif/bin/pip install --quiet --disable-pip-version-check annif pytest || \
		echo 'Annif cannot be installed here: its tests are skipped'
	rm -rf target/annif/wheel
	target/python/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir target/annif/wheel \
		--config-settings=build-args='--profile quick' ./python
	target/annif/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/annif/wheel/*.whl
	touch $@

# The service as other people's programs see it.
test-server: target/server/installed
	$(CARGO) build --locked --quiet --package labelwood-cli
	LABELWOOD_COMMAND=$(CURDIR)/target/debug/labelwood target/server/bin/pytest --quiet -rs crates/labelwood-server/tests/service

target/server/installed:
	test -x target/server/bin/python || $(PYTHON) -m venv target/server
	target/server/bin/pip install --quiet --disable-pip-version-check pytest
	for package in schemathesis annif-client; do \
		target/server/bin/pip install --quiet --disable-pip-version-check $$package || \
			echo "not installed: $$package, its test is skipped"; \
	done
	touch $@

# The server's page is tested in a browser, which is installed where that asks nobody.
chromium:
	command -v chromium >/dev/null || command -v google-chrome >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
		apt-get install --yes --quiet --no-install-recommends chromium fonts-noto-core >/dev/null 2>&1 || \
		echo 'not installed: chromium, the tests of the page are skipped'

PAGE_TESTS = crates/labelwood-server/tests/page

test-page: chromium target/page/installed
	if command -v node >/dev/null; \
	then node --test $(PAGE_TESTS)/units.test.mjs; \
	else echo 'there is no node here: the tests of the functions of the page are skipped'; \
	fi
	$(CARGO) build --locked --quiet --package labelwood-cli
	! test -x target/page/bin/pytest || LABELWOOD_COMMAND=$(CURDIR)/target/debug/labelwood PYTHONDONTWRITEBYTECODE=1 \
		target/page/bin/pytest --quiet -p no:cacheprovider -r s $(PAGE_TESTS)

target/page/installed:
	test -x target/page/bin/python || $(PYTHON) -m venv target/page
	target/page/bin/pip install --quiet --disable-pip-version-check pytest playwright axe-playwright-python || \
		{ rm -f target/page/bin/pytest; echo 'Playwright cannot be installed here: the tests of the page in a browser are skipped'; }
	touch $@

lint:
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path python/Cargo.toml --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked --lib --bins -- -D warnings -D clippy::unwrap_used
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps
	cd python && $(CARGO) clippy --profile quick -- -D warnings -D clippy::unwrap_used

bench:
	$(CARGO) bench --locked

# Writes docs/src/peers.md; PEERS holds further flags, bench/README.md says which. A stopped run goes on where it was.
bench-peers: release target/bench-venv/ready
	target/bench-venv/bin/python bench/peers.py $(PEERS)

# The default beside omikuji alone; a tenth of the packages of the other peers.
bench-default: release target/bench-default/ready
	target/bench-default/bin/python bench/default.py $(SETS)

target/bench-default/ready: bench/requirements.txt
	python3 -m venv target/bench-default
	grep -E '^(omikuji|numpy|scipy)=' bench/requirements.txt | xargs target/bench-default/bin/python -m pip install --quiet
	touch $@

# Writes docs/src/tried.md; SETS="bibtex delicious" measures these alone. A stopped run goes on where it was.
bench-tried: release target/bench-tried/ready
	target/bench-tried/venv/bin/python bench/tried.py $(SETS)

target/bench-tried/ready: bench/requirements.txt
	python3 -m venv target/bench-tried/venv
	grep -E '^(numpy|scipy)=' bench/requirements.txt | xargs target/bench-tried/venv/bin/python -m pip install --quiet
	touch $@

# What calls of the Python package cost; MODEL is a model's folder, ROWS a file of vectors for it.
bench-python: target/python/installed
	target/python/bin/python bench/python_calls.py $(MODEL) $(ROWS)

# A peer that cannot be installed must not keep the others out.
target/bench-venv/ready: bench/requirements.txt
	python3 -m venv target/bench-venv
	target/bench-venv/bin/python -m pip install --quiet --requirement bench/requirements.txt || \
		while read -r package; do \
			target/bench-venv/bin/python -m pip install --quiet "$$package" || echo "not installed: $$package"; \
		done <bench/requirements.txt
	touch $@

# Every algorithm on hundreds of odd data sets; TORTURE="--sets 1000 --seed 2" tries more, and others.
torture: release
	$(PYTHON) bench/torture.py $(TORTURE)

# Writes docs/src/choices.md; takes some minutes.
choices: release
	python3 bench/choices.py

# Writes docs/src/serving-speed.md; takes ten minutes and a gigabyte under target/, and needs wrk.
serving-speed: release
	python3 bench/serve.py

# Writes docs/src/scale.md; takes some minutes and a few gigabytes under target/.
scale: release
	python3 bench/scale.py

# Writes docs/src/shards.md; takes some minutes and a gigabyte under target/.
shards: release
	python3 bench/shards.py $(SIZES)

# Writes docs/src/updates.md; takes some minutes.
updates: release
	python3 bench/updates.py

# Writes docs/src/reproduction.md and its pictures; a stopped run goes on where it was.
reproduce: release
	python3 bench/reproduce.py

# Writes docs/src/forests.md in the same way.
reproduce-forests: release
	python3 bench/forests.py

# Writes docs/src/table.md and its picture in the same way; SETS="bibtex delicious" measures these anew.
reproduce-table: release
	python3 bench/table.py $(SETS)

# Writes python/labelwood/_settings.py and docs/src/settings.md; a test fails when they are stale.
settings:
	LABELWOOD_WRITE_SETTINGS=1 $(CARGO) test --locked --package labelwood --test generated

python-settings: settings

docs: $(MDBOOK)
	$(CARGO) doc --locked --no-deps
	$(MDBOOK) build docs

target/tools/bin/mdbook:
	$(CARGO) install mdbook --version $(MDBOOK_VERSION) --locked --root target/tools \
		--no-default-features --features search
