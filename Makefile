# make help lists the targets. Every tool that Go can pin is pinned in go.mod.

.DEFAULT_GOAL := help
GO ?= go
PACKAGES := ./...
# How long each fuzz target runs; how often make crash kills a process, and how
# many stores it damages.
FUZZTIME ?= 60s
KILLS ?= 500
DAMAGES ?= 500

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{ printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the flower command into bin/
	$(GO) build -o bin/flower ./cmd/flower

.PHONY: test
test: ## Run the tests, in random order, without those that start the Claude Code CLI
	$(GO) test -short -shuffle=on $(PACKAGES)

.PHONY: test-claude
test-claude: ## Run the tests of the second harness with the real Claude Code CLI
	$(GO) test -shuffle=on ./engine/harness/claudecode ./engine/harness/harnesstest
	$(GO) test -run 'TestScript/(run_claude|plugins)' ./cmd/flower

.PHONY: race
race: ## Run all tests under the race detector
	$(GO) test -race -shuffle=on $(PACKAGES)

.PHONY: test-all
test-all: ## Run the long versions of the tests too
	FLOWER_TEST_LONG=1 $(GO) test -shuffle=on -timeout 60m $(PACKAGES)
	$(GO) test ./store -count=1 -timeout 60m -run 'Random' -steps 100000 -v

.PHONY: lint
lint: ## Check format, module files, vet and staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) mod tidy -diff
	$(GO) vet $(PACKAGES)
	$(GO) tool staticcheck $(PACKAGES)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (60s)
	@set -e; for pkg in $$($(GO) list $(PACKAGES)); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
		done; \
	done

.PHONY: crash
crash: ## Kill processes that use a store KILLS times (500), damage DAMAGES stores (500)
	$(GO) run ./internal/crash -kills $(KILLS)
	$(GO) test ./store -count=1 -timeout 60m -run '^TestDamage' -damages $(DAMAGES) -v

.PHONY: bench
bench: ## Measure, each figure beside its anchor
	cd bench && $(GO) run .
	$(GO) test ./engine/harness/harnesstest -run '^$$' -bench Start -benchtime 3x

.PHONY: bench-long
bench-long: ## A long run with a crash in its middle, and a thousand agents, as tables
	$(GO) test ./engine/harness/native -run '^$$' -bench '^Benchmark(Long|Agents)$$' -benchtime 1x

.PHONY: cover
cover: ## Measure what the tests cover
	$(GO) test -coverprofile=coverage.out -coverpkg=./... $(PACKAGES)
	$(GO) tool cover -func=coverage.out | tail -n 1

.PHONY: check
check: lint test ## What a change must pass: lint and test
