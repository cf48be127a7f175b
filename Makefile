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
# Suites that `make test` leaves to other targets. Of minutes: outages, conformance, kind (`make integration`, `make e2e`).
LONG := e2e/(kind|outages|high-availability|gateway-api)
# With a real Neutron (`make test-neutron`).
NEUTRON := integration/neutron|e2e/neutron-pods
# What a release publishes, with Helm and Prometheus (`make test-artifacts`).
ARTIFACTS := integration/(operator/(helm|monitoring)|cli/(executable|package|release-version))|e2e/(image|partners|release)
# The modules without I/O.
PURE := (util|injection|addons/(routes/compile|manifests))
SKIP ?= /node_modules/

.PHONY: help
help: ## List the targets
	@awk -v color="$$([ -t 1 ] && [ -z "$${NO_COLOR:-}" ] && echo 36)" 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {name = sprintf("%-16s", $$1); if (color) name = "\033[" color "m" name "\033[0m"; print "  " name " " $$2}' $(MAKEFILE_LIST)

##@ Start here

.PHONY: run
run: dist/.built ## Play the demo on an embedded control plane, until Ctrl-C (ONCE=1: check each claim and end)
	@node hack/run.ts $(if $(ONCE),--once)

.PHONY: test
test: lint unit dist/.built control-plane ## Run lint and the tests, but for those of minutes, with Neutron, and of what a release publishes
	@$(MAKE) --no-print-directory --keep-going -j2 integration e2e SKIP='$(LONG)|$(NEUTRON)|$(ARTIFACTS)'

##@ Checks and tests

.PHONY: lint
lint: node_modules/.installed ## Check format, lint, import rules, unused code and generated files
	@biome ci --colors=off .
	@knip
	@node hack/generate-types.ts --check
	@node hack/generate-envoy.ts --check
	@node hack/generate-docs.ts --check

.PHONY: scan
scan: control-plane ## Run the scanners checkov, trivy, hadolint, yamllint, zizmor and actionlint (test/scan; Python 3, Go)
	@test/scan/run

.PHONY: unit
unit: build/.compiled ## Run all tests without a control plane; fails if the coverage of the pure modules is too low
	@$(JEST) --maxWorkers=2 --coverage 'build/test/(unit|properties)/$(PURE)/' build/test/project/golden
	@$(JEST) --maxWorkers=2 --testPathIgnorePatterns='test/(unit|properties)/$(PURE)/|test/project/golden' -- \
		'build/test/(unit|properties|processes|project|tools)/'

.PHONY: integration
integration: build/.compiled dist/.built control-plane ## Run the tests against a real etcd, API server and controller-manager
	@$(JEST) --maxWorkers=2 --testPathIgnorePatterns='$(SKIP)' -- build/test/integration

.PHONY: versions
versions: build/.compiled dist/.built ## Try the operator on each version of Kubernetes, and write the table of docs/install.md (VERSIONS='1.31 1.37' SUITES='cli/ network/'; each version takes 10 minutes of CPU to build, once)
	@SUITES='$(SUITES)' LONG='$(LONG)' node test/versions/main.ts $(VERSIONS)

.PHONY: mutation
mutation: build/.compiled ## Run mutation tests of the pure modules (MUTATE=src/injection/podspec/rules/ports.ts for one file); report in out/mutation/index.html
	@npm run --silent mutation -- $(if $(MUTATE),--mutate $(MUTATE))

.PHONY: golden
golden: build/.compiled ## Rewrite the expected files of test/golden from current output: review the difference
	@UPDATE_GOLDEN=1 $(JEST) build/test/project/golden

.PHONY: faults
faults: build/.compiled control-plane ## Run the fault suite with many seeds (FAULT_SEEDS=5000); FAULT_SEED=123 replays one
	@FAULT_SEEDS=$(FAULT_SEEDS) $(JEST) --runInBand build/test/integration/faults/faults

.PHONY: oracle
oracle: build/.compiled control-plane ## Put 2,500 faults into a template: none that is adopted may be refused in a pod (5 minutes; ORACLE_SEED=7 for others)
	@ORACLE_FAULTS=2500 $(JEST) --runInBand build/test/integration/injection/template-oracle

.PHONY: big-lists
big-lists: build/.compiled dist/.built control-plane ## Measure the operator's memory with 40,000 pods of 10 kB (5 minutes; 3 GB for the API server)
	@BIG_LISTS_CREATED=40000 $(JEST) --runInBand build/test/integration/faults/big-lists

.PHONY: rollout-on-node
rollout-on-node: build/.compiled ## Roll images, resources, envoy.json and faulty images out to 20 pods under load on a real node (15 minutes; Debian, root)
	@E2E_ROLLOUT_REPLICAS=10 $(JEST) --runInBand build/test/e2e/rollout

.PHONY: bench
bench: dist/.built control-plane ## Measure each performance budget beside its floor (20 minutes, idle machine; BENCH_ONLY=webhook; test/bench/README.md)
	@node test/bench/main.ts

##@ Development

.PHONY: dev
dev: control-plane ## Run the operator from src/ beside a control plane, restarted at each change, open to a debugger
	@node hack/dev.ts

.PHONY: check
check: build/.compiled ## Run before each commit, in less than a minute: types, lint and test/unit (ONLY=network for a subset)
	@biome ci .
	@$(JEST) build/test/unit/$(ONLY)

.PHONY: watch
watch: build/.compiled ## Compile changes and run test/unit each time, until Ctrl-C (ONLY=network for a subset)
	@$(COMPILE) --watch --preserveWatchOutput & trap "kill $$!" EXIT; $(JEST) --watchAll build/test/unit/$(ONLY)

.PHONY: format
format: node_modules/.installed ## Format, and fix what lint can fix
	@biome check --write .

.PHONY: generate
generate: node_modules/.installed ## Generate all files and tables that repeat code
	@node hack/generate-types.ts
	@node hack/generate-envoy.ts
	@node hack/generate-docs.ts

.PHONY: pictures
pictures: dist/.built control-plane ## Draw docs/run.svg
	@node hack/pictures/cli.ts

.PHONY: control-plane
control-plane: node_modules/.installed ## Build etcd, kube-apiserver, kube-controller-manager and kubectl, once
	@node test/env/control-plane/cli.ts build

.PHONY: control-plane-up
control-plane-up: control-plane ## Start an empty control plane, until Ctrl-C
	@node test/env/control-plane/cli.ts up

.PHONY: neutron
neutron: node_modules/.installed ## Install a real Neutron and Keystone from PyPI, once (no root; Python 3.11)
	@node test/env/neutron/cli.ts install

.PHONY: neutron-up
neutron-up: neutron ## Start an empty Neutron and Keystone, until Ctrl-C
	@node test/env/neutron/cli.ts up

.PHONY: kind
kind: dist/.built ## Make a real cluster of kind with the operator in it, as docs/install.md says (KIND_NODES=2, KIND_NETWORKS=1 for Multus; on your Docker or, as root on Debian, on its own)
	@node test/env/kind/cli.ts up

.PHONY: kind-down
kind-down: node_modules/.installed ## End that cluster, and remove leftovers of a crashed one
	@node test/env/kind/cli.ts down

.PHONY: e2e
e2e: build/.compiled ## Run the tests on a real node with kubelet, containerd and CNI (Debian, root; else skipped), or on E2E_KUBECONFIG
	@obstacle="$$(node test/env/cluster/cli.ts prove)"; E2E_OBSTACLE="$$obstacle" $(JEST) --runInBand \
		--testPathIgnorePatterns='$(SKIP)' -- build/test/e2e

.PHONY: e2e-kind
e2e-kind: build/.compiled dist/.built ## Type README.md and docs/ on a cluster of kind, as a newcomer would (KIND_NODES=1: without what takes two; Debian, root)
	@obstacle="$$(node test/env/kind/cli.ts prove)"; E2E_OBSTACLE="$$obstacle" $(JEST) --runInBand build/test/e2e/kind

.PHONY: conformance
conformance: build/.compiled ## Run the Gateway API's conformance suite, and write test/conformance/gateway-api.yaml (Debian, root; 2 minutes, the first time 60)
	@CONFORMANCE_REPORT=test/conformance/gateway-api.yaml $(JEST) --runInBand build/test/e2e/gateway-api

.PHONY: judge-kubernetes
judge-kubernetes: node_modules/.installed dist/.built ## Run tests of Kubernetes' own e2e plain and with a sidecar in every pod, and compare (Debian, root; 40 minutes, the first time 60; RUNS='plain default transparent', FOCUS=, SKIP=, MINUTES= for each run)
	@node test/judge/main.ts $(RUNS)

.PHONY: week
week: node_modules/.installed dist/.built ## Put two nodes through a week's events: drains, outages, full disks, 2,000 pods; fail on leftovers (Debian, root; 15 minutes; WEEK_ROUNDS=1)
	@WEEK_ROUNDS='$(WEEK_ROUNDS)' node test/week/main.ts

.PHONY: test-release
test-release: build/.compiled control-plane ## Test make release against a registry on this machine (Debian, root), and krew; builds cosign and krew first, which takes minutes
	@node hack/release/cli.ts tools
	@TEST_KREW=1 $(JEST) --runInBand build/test/e2e/release build/test/integration/cli/executable

.PHONY: test-neutron
# Without Python, the tests with a real Neutron are skipped and say so.
test-neutron: build/.compiled dist/.built control-plane ## Run the tests with a real Neutron and Keystone, from PyPI, and OVN on a real node
	-@node test/env/neutron/cli.ts install
	@obstacle="$$(node test/env/cluster/cli.ts prove)"; E2E_OBSTACLE="$$obstacle" $(JEST) --runInBand \
		--testPathIgnorePatterns='$(LONG)' -- 'build/test/($(NEUTRON))'

.PHONY: test-artifacts
test-artifacts: build/.compiled dist/.built control-plane ## Run the tests of what a release publishes: image, chart (builds Helm), npm package, executable, alerts
	@obstacle="$$(node test/env/cluster/cli.ts prove)"; E2E_OBSTACLE="$$obstacle" TEST_HELM=1 $(JEST) --runInBand \
		-- 'build/test/($(ARTIFACTS))'

.PHONY: test-partners
test-partners: build/.compiled ## Test the Helm chart with cert-manager, and routes with Flagger, on a real node (Debian, root); builds them first, which takes minutes
	@TEST_PARTNERS=1 $(JEST) --runInBand build/test/e2e/partners build/test/e2e/flagger

.PHONY: soak
soak: build/.compiled ## Run two replicas under load on a real node, with rollouts and an API server outage of 60 s (SOAK_SECONDS=120)
	@E2E_SOAK_SECONDS=$(SOAK_SECONDS) E2E_OUTAGE_SECONDS=60 $(JEST) --runInBand build/test/e2e/high-availability build/test/e2e/outages build/test/e2e/traffic

.PHONY: deploy
deploy: node_modules/.installed ## Install the operator with kubectl (OVERLAY=default, another one of deploy/overlays, or several of deploy/components, as in OVERLAY='repair all-pods'; IMAGE=…)
	@node hack/deploy/cli.ts --image '$(IMAGE)' $(if $(OVERLAY),--overlay '$(OVERLAY)')

.PHONY: undeploy
undeploy: node_modules/.installed ## Remove the operator and all its objects (FORCE=1: also users' Networks)
	@node src/main.ts uninstall $(if $(FORCE),--force)

.PHONY: manifests
manifests: control-plane ## Write out/install.yaml, which is OVERLAY=default, and the Helm chart, out/helm/envoy-initializer
	@node hack/generate-manifests.ts

.PHONY: package
package: dist/.built ## Pack the npm package of the command (docs/cli.md)
	@node hack/pack.ts

.PHONY: cli
cli: node_modules/.installed ## Make the command line one executable for this platform, with its archive and its manifest for krew, in out/cli (URL=https://… of the directory that the archive will be in)
	@node hack/cli/build.ts $(if $(URL),--url '$(URL)')

# The first of docker, podman and buildah on the PATH, or BUILDER=.
BUILDER ?= $(firstword $(foreach program,docker podman buildah,$(if $(shell command -v $(program)),$(program))))
# The time of all files in the image, so that each build gives the same one.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
REVISION ?= $(shell git describe --always --dirty --abbrev=40 2>/dev/null || echo unknown)

# Another build from the same tag may differ.
warn-of-tag = $(if $(BASE),$(if $(findstring @sha256:,$(BASE)),,echo 'warning: BASE=$(BASE) has no digest, so the build is not reproducible; `make release` refuses it' >&2;))

.PHONY: image
image: ## Build the image (IMAGE=…, BASE=… for another base image, BUILDER=docker, podman or buildah)
	@$(warn-of-tag) $(or $(BUILDER),$(error docker, podman and buildah are not on the PATH: install one)) build --tag $(IMAGE) \
		$(if $(filter docker,$(BUILDER)),,--timestamp $(SOURCE_DATE_EPOCH)) \
		--build-arg SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) --build-arg REVISION=$(REVISION) \
		$(if $(BASE),--build-arg BASE=$(BASE)) $(BUILD_FLAGS) .

.PHONY: capture-image
capture-image: ## Build the image of the init container of deploy/transparent (CAPTURE_IMAGE=…, BASE=… of Debian, BUILDER=…)
	@$(warn-of-tag) $(or $(BUILDER),$(error docker, podman and buildah are not on the PATH: install one)) build --tag $(CAPTURE_IMAGE) \
		$(if $(BASE),--build-arg BASE=$(BASE)) $(BUILD_FLAGS) deploy/transparent

.PHONY: release
release: node_modules/.installed control-plane ## Build, push and sign the image (IMAGE=registry/name KEY=cosign.key); VERSION=1.2.3 makes a release, DRY_RUN=1 only shows it (CONTRIBUTING.md)
	@node hack/release/cli.ts release $(if $(VERSION),--version '$(VERSION)') $(if $(DRY_RUN),--dry-run) \
		--image '$(IMAGE)' --key '$(KEY)' --builder '$(BUILDER)' $(if $(BASE),--base '$(BASE)') \
		$(if $(PUSH_FLAGS),--push-flags='$(PUSH_FLAGS)') $(if $(FORCE),--force) $(if $(TLOG),--transparency-log)

.PHONY: base-digest
base-digest: node_modules/.installed ## Write the current digests of the base images into the Dockerfiles
	@node hack/release/cli.ts base-digest

.PHONY: clean
clean: ## Remove build results; the control plane's cache stays
	@rm -rf build dist coverage out

.PHONY: clean-cache
clean-cache: node_modules/.installed ## Remove the control plane's binaries of this version
	@rm -rf "$$(node test/env/control-plane/cli.ts path)"

# Targets that are files run only when something changed.

node_modules/.installed: package-lock.json package.json
	@command -v npm >/dev/null || { echo 'npm is missing: install Node.js 20 or newer, which brings it (nodejs.org)' >&2; exit 2; }
	@echo 'Installing the pinned packages (about 20 s)…'
	@npm ci --loglevel=error
	@touch $@

# Removes compiled files without a source, because jest would run them.
build/.compiled: node_modules/.installed tsconfig.json $(SOURCES)
	@$(COMPILE)
	@find build -name '*.js' | sed 's|^build/||; s|js$$|ts|' | sort | comm -23 - <(find src hack test -name '*.ts' | sort) | sed 's|^|build/|; s|ts$$|js|' | xargs -r rm
	@touch $@

dist/.built: node_modules/.installed tsconfig.json $(filter src/% hack/bundle/%,$(SOURCES))
	@npm run --silent build
	@touch $@
