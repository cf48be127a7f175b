# Every target does its own set-up. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The project's own Node, tsc, jest and biome, before the machine's.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

IMAGE ?= envoy-initializer:0.0.1
CAPTURE_IMAGE ?= envoy-initializer-capture:0.0.1
JEST := NODE_OPTIONS='--experimental-vm-modules --enable-source-maps --no-warnings' jest
COMPILE := tsc --incremental --tsBuildInfoFile build/.tsbuildinfo
SOURCES := $(shell find src hack test -name '*.ts' 2>/dev/null)
FAULT_SEEDS ?= 5000
SOAK_SECONDS ?= 120

.PHONY: help
help: ## Lists the targets
	@awk -v color="$$([ -t 1 ] && [ -z "$${NO_COLOR:-}" ] && echo 36)" 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {name = sprintf("%-16s", $$1); if (color) name = "\033[" color "m" name "\033[0m"; print "  " name " " $$2}' $(MAKEFILE_LIST)

##@ First things

.PHONY: run
run: dist/.built control-plane ## Shows the main job on an embedded control plane, until Ctrl-C (ONCE=1: checks each claim and ends)
	@node hack/run.ts $(if $(ONCE),--once)

.PHONY: test
test: lint unit integration e2e ## Lints and tests everything

##@ Parts of it

.PHONY: lint
lint: node_modules/.installed ## Formatting, lint, import rules, unused code, and generated files
	@biome ci .
	@knip
	@node hack/generate-types.ts --check
	@node hack/generate-envoy.ts --check
	@node hack/generate-opt-in-mistake.ts --check
	@node hack/generate-api-report.ts --check

.PHONY: unit
unit: build/.compiled ## Unit tests, with no control plane; fails where they leave too much of the pure rooms uncovered
	@$(JEST) --coverage 'build/test/(unit|properties)/(json|podspec|sidecar)/' build/test/project/golden
	@$(JEST) --testPathIgnorePatterns='test/(unit|properties)/(json|podspec|sidecar)/|test/project/golden' -- \
		'build/test/(unit|properties|processes|project|tools)/'

.PHONY: integration
# Without Python the tests on a real Neutron are skipped, and say so.
integration: build/.compiled dist/.built control-plane ## Tests against a real etcd, API server and controller-manager
	-@node test/env/neutron/cli.ts install
	@$(JEST) --runInBand build/test/integration

.PHONY: mutation
mutation: build/.compiled ## Mutation tests of the pure rooms, src/json, src/podspec and src/sidecar (MUTATE=src/podspec/rules/ports.ts for one file); the report is out/mutation/index.html
	@npm run --silent mutation -- $(if $(MUTATE),--mutate $(MUTATE))

.PHONY: golden
golden: build/.compiled ## Writes the expected files of all golden cases (test/golden) from what the code does now: review the difference
	@UPDATE_GOLDEN=1 $(JEST) build/test/project/golden

.PHONY: faults
faults: build/.compiled control-plane ## The fault suite with many seeds (FAULT_SEEDS=5000); FAULT_SEED=123 replays one
	@FAULT_SEEDS=$(FAULT_SEEDS) $(JEST) --runInBand build/test/integration/faults

.PHONY: outages
outages: dist/.built control-plane ## Outages of 9 to 20 s before real operators, as a table (25 minutes; OUTAGE_ROUNDS=10; test/outages/README.md)
	@node test/outages/main.ts

.PHONY: compare
compare: node_modules/.installed control-plane ## Shows what client-node's informer and ours survive, as a table (4 minutes)
	@node test/compare/main.ts

.PHONY: soak-networks
soak-networks: build/.compiled dist/.built control-plane ## 1,000 Networks at random for 5 minutes, the operator killed ten times (SOAK_SEED=123 replays the users)
	-@node test/env/neutron/cli.ts install
	@SOAK_SECONDS=300 SOAK_NETWORKS=1000 SOAK_KILLS=10 $(JEST) --runInBand build/test/integration/network-soak

.PHONY: big-lists
big-lists: build/.compiled dist/.built control-plane ## The memory of the operator on 40,000 real pods of 10 kB, listed (5 minutes; 3 GB for the API server)
	@BIG_LISTS_CREATED=40000 $(JEST) --runInBand build/test/integration/big-lists

.PHONY: bench
bench: dist/.built control-plane ## Measures each budget beside its floor (20 minutes, idle machine; BENCH_ONLY=webhook; test/bench/README.md)
	@node test/bench/main.ts

.PHONY: stand-still
stand-still: build/.compiled ## Shows for how long the densest calls of a webhook hold the event loop (10 minutes; ONLY=validate: for part of a name)
	@node build/test/bench/stand-still.js 3145728 '$(ONLY)'

##@ Work on it

.PHONY: dev
dev: control-plane ## Runs the operator from src/ beside an embedded control plane, restarted at each change, open to a debugger
	@node hack/dev.ts

.PHONY: check
check: build/.compiled ## What is asked before each commit, in less than a minute: types, lint, and test/unit (ONLY=network for a part of it)
	@biome ci .
	@$(JEST) build/test/unit/$(ONLY)

.PHONY: watch
watch: build/.compiled ## Compiles what changes, and runs test/unit (ONLY=network for a part of it) each time, until Ctrl-C
	@$(COMPILE) --watch --preserveWatchOutput & trap "kill $$!" EXIT; $(JEST) --watchAll build/test/unit/$(ONLY)

.PHONY: format
format: node_modules/.installed ## Formats, and fixes what lint can fix
	@biome check --write .

.PHONY: generate
generate: node_modules/.installed ## Writes src/network/api/types.ts from crd/, deploy/envoy from src/sidecar/envoy, the kinds in deploy/base/opt-in-mistake.yaml, and test/api from what the library exports
	@node hack/generate-types.ts
	@node hack/generate-envoy.ts
	@node hack/generate-opt-in-mistake.ts
	@node hack/generate-api-report.ts

.PHONY: pictures
pictures: dist/.built control-plane ## Draws the pictures of the documents: docs/run.svg, test/bench/growth.svg
	@node hack/pictures/cli.ts

.PHONY: control-plane
control-plane: node_modules/.installed ## Builds etcd, kube-apiserver, kube-controller-manager and kubectl, once
	@node test/env/control-plane/cli.ts build

.PHONY: control-plane-up
control-plane-up: control-plane ## Starts an empty control plane, until Ctrl-C
	@node test/env/control-plane/cli.ts up

.PHONY: neutron
neutron: node_modules/.installed ## Installs a real Neutron and Keystone from PyPI, once (no root; Python 3.11)
	@node test/env/neutron/cli.ts install

.PHONY: neutron-up
neutron-up: neutron ## Starts both, empty, until Ctrl-C
	@node test/env/neutron/cli.ts up

.PHONY: cluster
cluster: node_modules/.installed ## Starts a real cluster of one node (Debian, root), or brings new images to the one that runs
	@node test/env/cluster/cli.ts up

.PHONY: cluster-down
cluster-down: node_modules/.installed ## Ends that cluster, and removes what one that crashed has left
	@node test/env/cluster/cli.ts down

.PHONY: e2e
e2e: build/.compiled ## Tests on a real node: kubelet, containerd, CNI (Debian, root; says so and skips elsewhere), or on E2E_KUBECONFIG's
	@obstacle="$$(node test/env/cluster/cli.ts prove)"; E2E_OBSTACLE="$$obstacle" $(JEST) --runInBand build/test/e2e

.PHONY: test-release
test-release: build/.compiled ## Tests make release against a registry on this machine (Debian, root); builds cosign first, in minutes, which make e2e does not
	@node hack/release/cli.ts tools
	@$(JEST) --runInBand build/test/e2e/release

.PHONY: soak
soak: build/.compiled ## Two replicas under load for SOAK_SECONDS=120, applications rolled over as long, and an API server away for 60 s, on a real node
	@E2E_SOAK_SECONDS=$(SOAK_SECONDS) E2E_OUTAGE_SECONDS=60 $(JEST) --runInBand build/test/e2e/high-availability build/test/e2e/outages build/test/e2e/traffic

.PHONY: deploy
deploy: node_modules/.installed ## Installs the operator by kubectl (OVERLAY=default, all-pods or cert-manager; IMAGE=…)
	@node hack/deploy/cli.ts deploy --image '$(IMAGE)' $(if $(OVERLAY),--overlay '$(OVERLAY)')

.PHONY: undeploy
undeploy: node_modules/.installed ## Removes it and all that belongs to it; FORCE=1: users' Networks too
	@node hack/deploy/cli.ts undeploy $(if $(FORCE),--force)

.PHONY: manifests
manifests: control-plane ## Writes deploy/install.yaml from deploy/overlays/default
	@node hack/generate-install.ts

.PHONY: package
package: dist/.built ## Packs the npm package of the library and the command, and prints its path (docs/library.md)
	@node hack/pack.ts

# Docker, podman or buildah: whichever is there, or BUILDER=.
BUILDER ?= $(firstword $(foreach program,docker podman buildah,$(if $(shell command -v $(program)),$(program))))
# Of all that is in the image, so that it is the same whenever it is built.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
REVISION ?= $(shell git describe --always --dirty --abbrev=40 2>/dev/null || echo unknown)

# A build from a tag may differ from the last one.
warn-of-tag = $(if $(BASE),$(if $(findstring @sha256:,$(BASE)),,echo 'warning: BASE=$(BASE) has no digest, so the image cannot be built again; `make release` refuses it' >&2;))

.PHONY: image
image: ## Builds the image (IMAGE=…, BASE=… for another base image, BUILDER=docker, podman or buildah)
	@$(warn-of-tag) $(or $(BUILDER),$(error no docker, podman or buildah is here: install one)) build --tag $(IMAGE) \
		$(if $(filter docker,$(BUILDER)),,--timestamp $(SOURCE_DATE_EPOCH)) \
		--build-arg SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) --build-arg REVISION=$(REVISION) \
		$(if $(BASE),--build-arg BASE=$(BASE)) $(BUILD_FLAGS) .

.PHONY: capture-image
capture-image: ## Builds the image of the init container of deploy/transparent (CAPTURE_IMAGE=…, BASE= of Debian's, BUILDER=)
	@$(warn-of-tag) $(or $(BUILDER),$(error no docker, podman or buildah is here: install one)) build --tag $(CAPTURE_IMAGE) \
		$(if $(BASE),--build-arg BASE=$(BASE)) $(BUILD_FLAGS) deploy/transparent

.PHONY: release
release: node_modules/.installed ## Builds, pushes and signs the image, with its SBOM and provenance (IMAGE=registry/name:tag KEY=cosign.key; docs/install.md)
	@node hack/release/cli.ts release --image '$(IMAGE)' --key '$(KEY)' --builder '$(BUILDER)' $(if $(BASE),--base '$(BASE)') \
		$(if $(PUSH_FLAGS),--push-flags='$(PUSH_FLAGS)') $(if $(FORCE),--force) $(if $(TLOG),--transparency-log)

.PHONY: base-digest
base-digest: node_modules/.installed ## Writes the present digests of the base images into the Dockerfiles
	@node hack/release/cli.ts base-digest

.PHONY: clean
clean: ## Removes what was built here; the control plane's cache stays
	@rm -rf build dist coverage out

.PHONY: clean-cache
clean-cache: node_modules/.installed ## Removes the control plane's binaries of this version
	@rm -rf "$$(node test/env/control-plane/cli.ts path)"

# Files, so that nothing is done twice.

node_modules/.installed: package-lock.json package.json
	@command -v npm >/dev/null || { echo 'npm is missing: install Node.js 20 or newer, which brings it (nodejs.org)' >&2; exit 2; }
	@echo 'Installing the pinned packages (about 20 s)…'
	@npm ci --loglevel=error
	@touch $@

# What has lost its source goes: jest would run it.
build/.compiled: node_modules/.installed tsconfig.json $(SOURCES)
	@$(COMPILE)
	@find build -name '*.js' | sed 's|^build/||; s|js$$|ts|' | sort | comm -23 - <(find src hack test -name '*.ts' | sort) | sed 's|^|build/|; s|ts$$|js|' | xargs -r rm
	@touch $@

dist/.built: node_modules/.installed tsconfig.json tsconfig.build.json $(filter src/%,$(SOURCES))
	@npm run --silent build
	@touch $@
