# sessionhub: build, install, test. `make help` lists the targets.
SHELL    := /bin/sh
TOOLS    := shq shwatch shctl shmove shinstall shrevive shspawn shhub
# Programs that tools run; people don't, so they have no manual page.
HELPERS  := shq-mcp
PREFIX   ?= $(HOME)/.local
DESTDIR  ?=
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0)
COMMIT   ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
FRONT    := sessionhub/cmd/internal/front
LDFLAGS  := -s -w -X $(FRONT).version=$(VERSION) -X $(FRONT).commit=$(COMMIT)
GOBUILD  := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'
# The tests that need the real Claude Code install this version.
CLAUDE_VERSION := 2.1.332
CLAUDE_DIR     ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sessionhub/claude-$(CLAUDE_VERSION)
CLAUDE_BIN     ?= $(CLAUDE_DIR)/node_modules/.bin/claude

.PHONY: help build install uninstall docs demo test check bench soak test-herdr claude need-go need-cc

help:
	@echo 'make build       all tools into bin/'
	@echo 'make install     tools, manual pages and completions into $$PREFIX (default ~/.local)'
	@echo 'make uninstall   take them away again'
	@echo 'make demo        build, and run the main job end to end'
	@echo 'make test        all tests, with the race detector'
	@echo 'make check       formatting, vet, staticcheck, import floors, fresh schemas and manual pages'
	@echo 'make bench       speed, beside what it is compared with'
	@echo 'make soak        the tests that take longer than minutes'
	@echo 'make test-herdr HERDR=/path/to/herdr   the same suite against a real herdr'
	@echo 'make docs        write schemas and manual pages anew'

need-go:
	@command -v go >/dev/null || { echo 'make: Go is missing: install Go 1.26 or later (https://go.dev/dl)' >&2; exit 69; }
	@command -v git >/dev/null || { echo 'make: git is missing: install it' >&2; exit 69; }

need-cc: need-go
	@command -v $$(go env CC) >/dev/null || { echo 'make: a C compiler is missing: the race detector needs one (apt-get install gcc)' >&2; exit 69; }

build: need-go
	@mkdir -p bin
	@for t in $(TOOLS) $(HELPERS); do $(GOBUILD) -o bin/$$t ./cmd/$$t || exit 1; done

install: build
	@install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/man/man1' \
	  '$(DESTDIR)$(PREFIX)/share/bash-completion/completions' '$(DESTDIR)$(PREFIX)/share/zsh/site-functions' '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d'
	@for t in $(TOOLS); do \
	  install -m 755 bin/$$t '$(DESTDIR)$(PREFIX)/bin/'.$$t.new && mv -f '$(DESTDIR)$(PREFIX)/bin/'.$$t.new '$(DESTDIR)$(PREFIX)/bin/'$$t && \
	  bin/$$t --man > '$(DESTDIR)$(PREFIX)/share/man/man1/'$$t.1 && \
	  bin/$$t --completion bash > '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/'$$t && \
	  bin/$$t --completion zsh > '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_'$$t && \
	  bin/$$t --completion fish > '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/'$$t.fish || exit 1; \
	  echo "installed $(DESTDIR)$(PREFIX)/bin/$$t"; \
	done
	@for t in $(HELPERS); do \
	  install -m 755 bin/$$t '$(DESTDIR)$(PREFIX)/bin/'.$$t.new && mv -f '$(DESTDIR)$(PREFIX)/bin/'.$$t.new '$(DESTDIR)$(PREFIX)/bin/'$$t || exit 1; \
	  echo "installed $(DESTDIR)$(PREFIX)/bin/$$t"; \
	done
	@echo 'now hook it up, and after every upgrade once more: $(PREFIX)/bin/shinstall hub plugin hooks mcp revive, or join URL in place of hub (--dry-run shows what that changes)'
	@echo 'then ask whether all is well: $(PREFIX)/bin/shinstall doctor'

uninstall:
	@[ -n '$(DESTDIR)' ] || [ ! -e "$${XDG_DATA_HOME:-$$HOME/.local/share}/sessionhub/herdr-plugin" ] || \
	  { echo 'make: uninstall: herdr would go on calling the tools: first run shinstall plugin hooks mcp --remove' >&2; exit 1; }
	@[ -n '$(DESTDIR)' ] || { [ ! -e "$${XDG_CONFIG_HOME:-$$HOME/.config}/systemd/user/sessionhub.service" ] && \
	  [ ! -e "$$HOME/Library/LaunchAgents/sessionhub.hub.plist" ]; } || \
	  { echo 'make: uninstall: the hub runs as a service: first run shinstall hub --remove' >&2; exit 1; }
	@[ -n '$(DESTDIR)' ] || { [ ! -e "$${XDG_CONFIG_HOME:-$$HOME/.config}/systemd/user/sessionhub-revive.timer" ] && \
	  [ ! -e "$$HOME/Library/LaunchAgents/sessionhub.revive.plist" ] && ! crontab -l 2>/dev/null | grep -q '# by shinstall revive$$'; } || \
	  { echo 'make: uninstall: a timer runs shrevive: first run shinstall revive --remove' >&2; exit 1; }
	@for t in $(HELPERS); do rm -f '$(DESTDIR)$(PREFIX)/bin/'$$t && echo "removed $(DESTDIR)$(PREFIX)/bin/$$t" || exit 1; done
	@for t in $(TOOLS); do \
	  rm -f '$(DESTDIR)$(PREFIX)/bin/'$$t '$(DESTDIR)$(PREFIX)/share/man/man1/'$$t.1 \
	    '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/'$$t '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_'$$t \
	    '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/'$$t.fish || exit 1; \
	  echo "removed $(DESTDIR)$(PREFIX)/bin/$$t"; \
	done

docs: build
	@mkdir -p docs/schema docs/man
	go run ./cmd/internal/genschema docs/schema
	@for t in $(TOOLS); do bin/$$t --man > docs/man/$$t.1 || exit 1; done

demo: build
	@go run ./cmd/internal/demo -bin bin

# The real Claude Code, for the tests that must not trust a stand-in.
claude:
	@[ -x '$(CLAUDE_BIN)' ] || { command -v npm >/dev/null || { echo 'make: npm is missing: the tests run the real Claude Code from npm' >&2; exit 69; }; \
	  mkdir -p '$(CLAUDE_DIR)' && npm install --prefix '$(CLAUDE_DIR)' --no-audit --no-fund --silent @anthropic-ai/claude-code@$(CLAUDE_VERSION); }

test: need-cc claude
	CLAUDE_BIN='$(CLAUDE_BIN)' go test -race -timeout 30m -tags realclaude ./...

check: build
	@out=$$(gofmt -l cmd lib); [ -z "$$out" ] || { echo "make: not gofmt'ed: $$out" >&2; exit 1; }
	go vet -tags realclaude,realherdr,soak ./...
	go tool staticcheck -tags realclaude,realherdr,soak ./...
	go test -run 'TestFloors' ./lib
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && go run ./cmd/internal/genschema "$$tmp" && \
	  diff -r "$$tmp" docs/schema >/dev/null || { echo 'make: docs/schema is stale: run make docs' >&2; exit 1; }
	@for t in $(TOOLS); do bin/$$t --man | diff - docs/man/$$t.1 >/dev/null || { echo "make: docs/man/$$t.1 is stale: run make docs" >&2; exit 1; }; done

bench: build
	go run ./cmd/internal/bench -bin bin

soak: need-cc claude
	CLAUDE_BIN='$(CLAUDE_BIN)' go test -race -timeout 60m -tags realclaude,realherdr,soak -run Soak ./...

test-herdr: need-cc claude
	@[ -n '$(HERDR)' ] && [ -x '$(HERDR)' ] || { echo 'make: test-herdr: HERDR=/path/to/herdr is wanted' >&2; exit 64; }
	HERDR='$(HERDR)' CLAUDE_BIN='$(CLAUDE_BIN)' go test -race -count 1 -timeout 30m -tags realclaude,realherdr -run "Conformance|RealHerdr" ./...
