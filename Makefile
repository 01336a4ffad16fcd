# One target per task. A new user needs only `make study` and `make test`.

CARGO ?= cargo
HOPTAX := target/release/hoptax
TOOLS := $(CURDIR)/.tools
CARGO_DENY_VERSION := 0.20.2
CARGO_FUZZ_VERSION := 0.13.1
MDBOOK_VERSION := 0.5.2
TYPOS_VERSION := 1.42.3
ACTIONLINT_VERSION := 1.7.12
FUZZ_RUNS ?= 1000000
FUZZ_TARGETS = $(basename $(notdir $(wildcard fuzz/targets/*.rs)))
# The first variable lets stable Rust accept the fuzzers' flags. The others save minutes of optimization of each target as a whole.
CARGO_FUZZ = RUSTC_BOOTSTRAP=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 PATH="$(TOOLS)/bin:$$PATH" $(CARGO) fuzz
# A new target has no archive yet.
UNPACK_CORPUS = mkdir -p "fuzz/corpus/$$target" && { [ ! -e "fuzz/corpus/$$target.tar.gz" ] || \
	    tar --extract --skip-old-files --file "fuzz/corpus/$$target.tar.gz" --directory fuzz/corpus; }
# Reproducible: equal inputs make equal archives.
PACK_CORPUS = tar --create --sort name --mtime @0 --owner 0 --group 0 --numeric-owner --mode u=rwX,go=rX \
	    --use-compress-program "gzip --best --no-name" --directory fuzz/corpus --file "fuzz/corpus/$$target.tar.gz" "$$target"
PREFIX ?= $(HOME)/.local
MECHANISM ?= wasm
# A separate workspace that shares the build folder.
REGISTRY = --manifest-path apps/image-registry/Cargo.toml
REGISTRY_BUILD = $(REGISTRY) --locked --target-dir target

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

.PHONY: study
study: build ## Build, fetch Envoy, run the quick study, print the table, write report.html
	$(HOPTAX) study quick

.PHONY: build
build: ## Build the program
	@tools/packages build
	$(CARGO) build --release --package hoptax --features cluster

.PHONY: install
install: build ## Install hoptax in PREFIX/bin; the default PREFIX is ~/.local
	install -D --mode 755 $(HOPTAX) "$(DESTDIR)$(PREFIX)/bin/hoptax"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "$(PREFIX)/bin is not on PATH";; esac

.PHONY: release
release: ui/node_modules ## Build the files of a release in target/release-files: archives, .deb, images, licences, checksums; needs root
	@tools/packages release
	tools/release

.PHONY: release-check
release-check: ## Check the files of `make release`: install the .deb in an empty folder, run the program and studies there, remove it
	@tools/packages release image
	tools/release-check

.PHONY: release-twice
release-twice: ## Build the release again in another folder, and fail unless its files are the same
	tools/release-twice

.PHONY: book
book: $(TOOLS)/bin/mdbook ## Make a book of docs/ in target/book, and follow its links
	$(TOOLS)/bin/mdbook build
	tools/book-links target/book

.PHONY: book-pages
book-pages: book ui/node_modules ## Open the pages of the book in Chromium, wide and narrow; keep screenshots of some in target/screenshots/book
	@tools/packages tests
	node ui/test/book.mjs target/book target/screenshots/book

.PHONY: book-commands
book-commands: build ## Run the commands of README.md and docs/ as their readers do, or those of PAGES; needs namespaces and Python 3.11 with pip
	@tools/packages book
	tools/book-commands $(PAGES)

# Texts that users read. Those of the program are doc comments and strings.
SPELLED = $(wildcard *.md) docs studies ui/README.md crates/checks/src crates/cli/src crates/functions/catalogue crates/lint/src

.PHONY: spelling
spelling: $(TOOLS)/bin/typos ## Check the spelling of documents, help texts, checks, studies and the catalogue
	$(TOOLS)/bin/typos $(SPELLED)

.PHONY: workflows-check
workflows-check: $(TOOLS)/bin/actionlint ## Check the workflows for GitHub and GitLab, and the action; needs Go and Python 3.11
	ACTIONLINT=$(TOOLS)/bin/actionlint tools/workflows-check

# `make test` fails if the pages differ from the program's.
.PHONY: pages
pages: build ## Write the pages of docs/ that the program knows: functions, studies, checks, operators, rules of the linter
	$(HOPTAX) generate pages docs
	$(HOPTAX) lint rules --markdown > docs/reference/lint-rules.md

# `tools/timed` prints the time of each test program.
CARGO_TEST = $(CARGO) test --workspace --quiet --no-fail-fast --config 'target."cfg(all())".runner = "$(CURDIR)/tools/timed"'

# One build makes the tests and runs the lints.
LINTED = RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/tools/linted

# The applications and packages that tests need are built in parallel with the test programs. The second step compiles the rest. Incremental
# data are off, because few builds read them again. Cargo compiles one crate per processor at a time, so more codegen units would wait for
# each other. Procedural macros have the same number of units; otherwise dependencies that they share with the program would be compiled
# twice.
.PHONY: test
test: export CARGO_INCREMENTAL = 0
test: export CARGO_PROFILE_DEV_CODEGEN_UNITS = 2
test: export CARGO_PROFILE_DEV_BUILD_OVERRIDE_CODEGEN_UNITS = 2
test: ## Run all checks of CI
	@tools/packages build tests
	@rm -rf target/test-times
	@$(MAKE) --silent applications ui-packages & beside=$$!; \
	    $(LINTED) $(CARGO) test --workspace --quiet --no-run --test '*' || { kill $$beside 2>/dev/null; exit 1; }; \
	    wait $$beside
	@$(LINTED) tools/tests-beside-checks $(MAKE) $(CARGO_TEST)
	@$(LINTED) ONCE=1 $(CARGO_TEST) --test '*'
	@tools/test-times

.PHONY: test-long
test-long: lint spelling ## Run the tests that take minutes each, and check the documentation
	$(CARGO_TEST) -- --ignored long::
	$(CARGO) test --release --package hoptax-stats --bench simulations
	@$(MAKE) rest-fuzz
	@$(MAKE) book-commands

.PHONY: rest-fuzz
rest-fuzz: build ## Fuzz the REST API of `hoptax serve` against its OpenAPI document, EXAMPLES requests of each operation; needs Python 3.11
	tools/rest-fuzz

.PHONY: lint
lint: checks registry-lint ## Check formatting, lints and documentation
	$(CARGO) clippy --workspace --all-targets --quiet -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

.PHONY: checks
checks: ## Check formatting
	@tools/packages build
	$(CARGO) fmt --all --check
	$(CARGO) fmt $(REGISTRY) --check

# Separate, because checking its dependencies takes longer than the only test that uses it: one study, where it was built.
.PHONY: registry-lint
registry-lint: ## Check lints of the image registry
	@tools/packages build
	$(CARGO) clippy $(REGISTRY_BUILD) --all-targets --quiet -- --deny warnings

.PHONY: unit
unit: applications ## Run all tests, including those on real Envoy
	@tools/packages build tests
	$(CARGO_TEST)

.PHONY: deny
deny: $(TOOLS)/bin/cargo-deny ## Check licences and sources of dependencies
	$(TOOLS)/bin/cargo-deny --log-level error check bans licenses sources
	$(TOOLS)/bin/cargo-deny --log-level error $(REGISTRY) --config deny.toml check bans licenses sources

# Not part of `make test`: a new advisory would fail an old commit, and the database needs access to GitHub.
.PHONY: advisories
advisories: $(TOOLS)/bin/cargo-deny ## Check all dependencies against RustSec's advisories; DENY_FLAGS=--offline uses the copy of the last time
	for folder in . filters apps/image-registry; do \
	    (cd "$$folder" && $(TOOLS)/bin/cargo-deny $(DENY_FLAGS) --log-level error --config $(CURDIR)/deny.toml check advisories) || exit 1; \
	done

.PHONY: bench
bench: build ## Benchmark the load generator against others and against its targets
	bench/generators
	bench/protocols
	bench/pacing
	bench/send-lag

.PHONY: callers
callers: ## Install the packages for studies with a link, PHP callers or other proxies
	tools/packages callers

.PHONY: limiter
limiter: ## Build the Go application of `hoptax study rate-limit-placement`
	tools/go-program limiter

# Without Go, the short form of the study that needs it is skipped.
.PHONY: applications
applications:
	@! command -v go >/dev/null || tools/go-program limiter || echo "hoptax study rate-limit-placement will not be tested"

.PHONY: ui
ui: ui/node_modules ## Build the page of results: ui/dist/report.html and its types; needs Node
	cd ui && npm run --silent types && npm run --silent build

.PHONY: ui-check
ui-check: ## Check the types of the page, its tests, and that ui/dist is what its source builds
	@if [ -d ui/node_modules ]; then cd ui && npm run --silent check; else echo "not tested: the page, without npm"; fi

.PHONY: screenshots
screenshots: ui-packages ## Use the pages in Chromium, and keep screenshots of them in target/screenshots: wide and narrow, dark and light
	@tools/packages build tests
	rm -rf target/screenshots
	HOPTAX_SCREENSHOTS="$(CURDIR)/target/screenshots" $(CARGO) test --package hoptax --test program --quiet -- page::
	HOPTAX_SCREENSHOTS="$(CURDIR)/target/screenshots" $(CARGO) test --package hoptax --test studies --quiet -- served::a_configuration

# Without Node, the page is not tested. Nothing else needs Node, because ui/dist has the build of the page.
.PHONY: ui-packages
ui-packages:
	@! command -v npm >/dev/null || $(MAKE) --silent ui/node_modules || echo "the page of results will not be tested"

ui/node_modules: ui/package-lock.json
	cd ui && npm ci --silent --no-audit --no-fund && touch node_modules

.PHONY: collector
collector: ## Build an OpenTelemetry Collector for `make collector-check`; needs Go 1.26
	tools/go-program collector

.PHONY: collector-check
collector-check: collector ## Have the collector read results of `hoptax convert export --to otlp`
	$(CARGO) test --package hoptax --test program -- --include-ignored collector::

.PHONY: cluster
cluster: ## Build a real Kubernetes of one node and Istio for `make test-cluster`, in some minutes; needs root and Go
	tools/cluster build
	tools/meshes build

# One set of packages and features, so dependencies are compiled once.
CLUSTER_TEST = $(CARGO) test --package hoptax-cluster --package hoptax-mesh --package hoptax --features hoptax/cluster

# `make test` omits the client of Kubernetes. Everything is built before the cluster runs, because the cluster has no network.
.PHONY: test-cluster
test-cluster: ## Test `hoptax price --pod`, `load --agent-pods` and `mesh` on a real Kubernetes of one node; needs root and Go
	@[ "$$(id -u)" = 0 ] || { echo "make test-cluster needs root, for a network namespace and containers" >&2; exit 1; }
	@tools/packages build
	@$(MAKE) --no-print-directory cluster
	$(LINTED) $(CLUSTER_TEST) --lib
	$(LINTED) $(CLUSTER_TEST) --test program -- --include-ignored --exact pod::the_pinned_envoy_is_installed
	$(LINTED) tools/cluster run $(CLUSTER_TEST) --offline --test program -- --include-ignored pod:: agent_pods mesh

.PHONY: fortio-check
fortio-check: $(TOOLS)/bin/fortio ## Have the report page of Fortio open a result of `hoptax convert export --to fortio`; needs Go
	$(CARGO) test --package hoptax --test program -- --include-ignored fortio::

$(TOOLS)/bin/fortio:
	GOBIN="$(TOOLS)/bin" go install fortio.org/fortio@v1.66.0

.PHONY: registry
registry: ## Start the image registry behind Envoy, with its plans enforced by MECHANISM (wasm or module); Ctrl-C ends it
	@tools/packages build
	$(CARGO) build --release $(REGISTRY_BUILD)
	target/release/image-registry-lab --mechanism $(MECHANISM)

.PHONY: registry-program
registry-program: ## Build the image registry as the application of `hoptax study image-registry`
	@tools/packages build
	$(CARGO) build --release $(REGISTRY_BUILD)
	install -D --mode 755 target/release/image-registry "$(TOOLS)/bin/image-registry"

.PHONY: registry-check
registry-check: registry-program ## Build the image registry, run its tests, and its study in short form
	$(CARGO) test $(REGISTRY_BUILD)
	$(CARGO) test --package hoptax --test studies -- a_plan_is_enforced_at_every_place

.PHONY: filters
filters: ## Build the WebAssembly filters
	tools/filters

.PHONY: filters-check
filters-check: filters ## Rebuild the WebAssembly filters and run their tests
	$(CARGO) test --package hoptax --test studies -- envoy:: mechanisms::
	$(CARGO) test $(REGISTRY_BUILD) --test plans

.PHONY: price-list
price-list: build ## Measure the price list in three sittings and write docs/results/price-list (1 to 2 hours)
	tools/price-list

.PHONY: crosscheck-tools
crosscheck-tools: ## Install the load generators for `hoptax trust crosscheck`
	tools/crosscheck-tools

.PHONY: fuzz
fuzz: $(TOOLS)/bin/cargo-fuzz ## Feed readers of strangers' bytes with random ones, FUZZ_RUNS times each of FUZZ_TARGETS
	for target in $(FUZZ_TARGETS); do \
	    $(UNPACK_CORPUS) && $(CARGO_FUZZ) run --features run "$$target" -- -runs=$(FUZZ_RUNS) || exit 1; \
	done

.PHONY: fuzz-corpus
fuzz-corpus: $(TOOLS)/bin/cargo-fuzz ## Keep of the fuzz inputs those that reach something new, one archive per target
	for target in $(FUZZ_TARGETS); do \
	    $(UNPACK_CORPUS) && $(CARGO_FUZZ) cmin --features run "$$target" && $(PACK_CORPUS) || exit 1; \
	done

.PHONY: schemas
schemas: build ## Generate schemas/ from the result types
	for name in $$($(HOPTAX) generate schema); do $(HOPTAX) generate schema $$name > schemas/$$name.json || exit 1; done

$(TOOLS)/bin/cargo-deny: tools/program
	tools/program cargo-deny $(CARGO_DENY_VERSION) $(TOOLS)

$(TOOLS)/bin/typos: tools/program
	tools/program typos-cli $(TYPOS_VERSION) $(TOOLS)

$(TOOLS)/bin/actionlint:
	GOBIN="$(TOOLS)/bin" go install github.com/rhysd/actionlint/cmd/actionlint@v$(ACTIONLINT_VERSION)

# It runs for seconds, so optimizing it for minutes does not pay.
$(TOOLS)/bin/mdbook:
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
	    $(CARGO) install --quiet --locked --no-default-features --features search --root $(TOOLS) --version $(MDBOOK_VERSION) mdbook

$(TOOLS)/bin/cargo-fuzz:
	$(CARGO) install --quiet --locked --root $(TOOLS) --version $(CARGO_FUZZ_VERSION) cargo-fuzz
