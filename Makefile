# What can be done here; every target works from a fresh checkout with a Rust toolchain.

CARGO ?= cargo
LABELWOOD = target/release/labelwood
MDBOOK_VERSION = 0.5.4
MDBOOK = $(shell command -v mdbook || echo target/tools/bin/mdbook)

.PHONY: help demo test choices scale bench compare reproduce lint docs release

help:
	@echo 'make demo    train, evaluate and predict on questions to a library'
	@echo 'make test    run all tests'
	@echo 'make lint    check formatting, lints and documentation'
	@echo 'make bench   measure speed'
	@echo 'make compare measure labelwood against its peers; needs Python and the sets in LABELWOOD_DATA'
	@echo 'make reproduce repeat the experiments of the paper; needs Python and the sets in LABELWOOD_DATA'
	@echo 'make docs    build the API documentation and the guide'

demo: release
	$(LABELWOOD) demo

release:
	$(CARGO) build --release --locked --package labelwood-cli

# nextest runs the tests of all crates side by side; it does not know doc tests.
test:
	if $(CARGO) nextest --version >/dev/null 2>&1; \
	then $(CARGO) nextest run --locked --no-fail-fast; \
	else $(CARGO) test --locked --no-fail-fast --lib --bins --tests; \
	fi
	$(CARGO) test --locked --doc

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked --lib --bins -- -D warnings -D clippy::unwrap_used
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --locked --no-deps

bench:
	$(CARGO) bench --locked

# COMPARE holds further flags; bench/README.md says how it is measured.
compare: release target/bench-venv/ready
	target/bench-venv/bin/python bench/compare.py $(COMPARE)

target/bench-venv/ready: bench/requirements.txt
	python3 -m venv target/bench-venv
	target/bench-venv/bin/pip install --quiet --requirement bench/requirements.txt
	touch $@

# Writes docs/src/choices.md; takes some minutes.
choices: release
	python3 bench/choices.py

# Writes docs/src/scale.md; takes some minutes and a few gigabytes under target/.
scale: release
	python3 bench/scale.py

# Writes docs/src/reproduction.md and its pictures; a stopped run goes on where it was.
reproduce: release
	python3 bench/reproduce.py

docs: $(MDBOOK)
	$(CARGO) doc --locked --no-deps
	$(MDBOOK) build docs

target/tools/bin/mdbook:
	$(CARGO) install mdbook --version $(MDBOOK_VERSION) --locked --root target/tools \
		--no-default-features --features search
