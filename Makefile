# aipscope: the commands of a working day. `make help` lists them.

GO      ?= go
BIN     := bin/aipscope
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TIME    := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
LDFLAGS := -s -w -X aipscope/ui/cli.version=$(VERSION) -X aipscope/ui/cli.revision=$(COMMIT)

# The race detector needs cgo and a C compiler.
CC_FOUND := $(shell command -v $${CC:-gcc} >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 || command -v cc >/dev/null 2>&1; [ $$? = 0 ] && echo yes)
RACE     := $(if $(CC_FOUND),-race)

# How long `make fuzz` runs each target.
FUZZTIME ?= 1m

# The longest stream of `make bench`.
CHUNKS ?= 100000

.PHONY: help run build test terminal screenshots fuzz bench check fmt licenses release clean
.DEFAULT_GOAL := help

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf 'make %-12s %s\n' "$$name" "$$text"; done

run: build ## build, and play the demo
	@$(BIN) demo; code=$$?; case $$code in 0|1[0-7]|124|130) ;; *) exit $$code;; esac

build: ## build bin/aipscope
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) .

test: ## run the tests, with the race detector where a C compiler is found
ifeq ($(RACE),)
	@echo '*** NO C COMPILER FOUND: the tests run WITHOUT the race detector. ***' >&2
	$(GO) test ./...
else
	CGO_ENABLED=1 $(GO) test $(RACE) ./...
endif

terminal: ## run the tests that drive the console on a pseudo-terminal; they want a quiet machine
	$(GO) test -tags terminal -run 'Terminal|CtrlZ|Revealed' .

screenshots: ## play the scenes of ui/pictures_test.go, and paint them into docs/images
	@mkdir -p docs/images
	$(GO) test ./ui -count 1 -run TestPictures -paint ../docs/images

fuzz: ## run each fuzz target for a minute (FUZZTIME=10s for less)
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -run '^$$' -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg; \
		done; \
	done

bench: build ## measure the console against its peers, into docs/performance.md (CHUNKS=1000000 for the million)
	$(GO) build -o bin/bench ./bench
	bin/bench -most $(CHUNKS)

check: ## vet, staticcheck, licences and formatting
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) run ./tools/licenses -check
	@test -z "$$(gofmt -l . | tee /dev/stderr)"

fmt: ## format the code
	gofmt -w .

licenses: ## write THIRD_PARTY_LICENSES anew, after a change of go.mod
	$(GO) run ./tools/licenses

release: ## build for Linux, macOS and Windows, into dist (ONLY=linux/amd64 for one)
	$(GO) run ./tools/release -version '$(VERSION)' -revision '$(COMMIT)' -time '$(TIME)' -only '$(ONLY)'

clean: ## remove what was built
	rm -rf bin dist
