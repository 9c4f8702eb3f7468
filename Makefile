# `make demo` and `make test` do all the set-up themselves; `make help` lists the rest.

ROOT := $(CURDIR)
# One folder for cargo's output and for everything else that is built: tests, install and check share it.
GPTR_TARGET_DIR ?= $(ROOT)/.target
CARGO_TARGET_DIR := $(GPTR_TARGET_DIR)
BUILD := $(ROOT)/.target
LIBRARY := $(BUILD)/library
MANIFEST := src/rust/Cargo.toml
# Files of ../shared/acceptance to run, by a part of their names; empty for none.
ACCEPTANCE ?= 01
export GPTR_TARGET_DIR CARGO_TARGET_DIR

# The cargo that is new enough may not be the first on the PATH.
CARGO = PATH="$$(sh tools/find_cargo .):$$PATH" cargo
# Tests, docs and benchmarks use a library of their own and leave the user's alone.
WITH_LIBRARY = R_LIBS="$(LIBRARY)$${R_LIBS:+:$$R_LIBS}"

.DEFAULT_GOAL := help
.PHONY: help demo test check docs fmt lint bench vendor install library clean setup-demo setup-test setup-all

help:
	@echo "make demo      set up, install gptr, run an agent session offline and over HTTP"
	@echo "make test      set up, build, run all tests; the last line is 'N passed, N failed'"
	@echo "make install   install gptr into your own R library"
	@echo "make check     R CMD build and R CMD check, vignettes built"
	@echo "make docs      help pages and NAMESPACE from the roxygen comments"
	@echo "make fmt lint  format the Rust code; clippy, rustfmt and lintr as errors"
	@echo "make bench     the tables of bench/"
	@echo "make vendor    bundle the crates for an offline build, list their authors"
	@echo "make clean     remove everything that was built"

setup-demo setup-test setup-all:
	@sh tools/setup.sh $(@:setup-%=%)

install: setup-demo
	@lib="$$(Rscript tools/user_library.R)" && sh tools/install "$$lib" "$(BUILD)/install.log"

library: setup-test
	@sh tools/install "$(LIBRARY)" "$(BUILD)/install.log"

demo: install
	@Rscript tools/demo.R

test: library
	@$(WITH_LIBRARY) ACCEPTANCE="$(ACCEPTANCE)" sh tools/run_tests "$(BUILD)/test"

check: setup-all
	@sh tools/stage "$(BUILD)/check/gptr"
	cd "$(BUILD)/check" && R CMD build gptr && _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual gptr_*.tar.gz

docs: setup-all library
	@$(WITH_LIBRARY) Rscript -e 'roxygen2::roxygenise(load_code = "installed")'

fmt:
	$(CARGO) fmt --manifest-path $(MANIFEST) --all

lint:
	$(CARGO) clippy --manifest-path $(MANIFEST) --workspace --all-targets -- -D warnings
	$(CARGO) fmt --manifest-path $(MANIFEST) --all --check
	@if command -v shellcheck >/dev/null 2>&1; then \
	  shellcheck configure configure.win cleanup tools/find_cargo tools/setup.sh tools/install tools/stage tools/run_tests tools/sum_results .ci/run; fi
	Rscript tools/lint.R

bench: library
	@for script in bench/*.R; do echo; echo "## $$script"; $(WITH_LIBRARY) Rscript "$$script" || exit 1; done

vendor:
	cd src/rust && rm -rf vendor && mkdir -p vendor && $(CARGO_IN_RUST) vendor --locked vendor > vendor.config
	cd src/rust && mv vendor.config vendor/config.toml && tar -cJf vendor.tar.xz vendor && rm -rf vendor
	@mkdir -p inst
	$(CARGO) metadata --manifest-path $(MANIFEST) --format-version 1 --locked | python3 tools/authors.py > inst/AUTHORS
	@ls -l src/rust/vendor.tar.xz

# `cargo vendor` prints paths relative to where it runs.
CARGO_IN_RUST = PATH="$$(sh ../../tools/find_cargo ../..):$$PATH" cargo

clean:
	rm -rf "$(BUILD)"
	sh cleanup
