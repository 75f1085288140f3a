# Each target installs what it lacks through apt, and says so; where nothing is missing, it says nothing.

.DEFAULT_GOAL := help
.PHONY: help build run ci test test-clients test-pooled test-managed test-previous test-web test-alerts test-traces \
	bench questions swarm cells faults failover docs checks dist dist-test release format clean

help:    ## this list
	@sed -n 's/^\([a-z-]*\): *## /make \1\t/p' Makefile | expand -t 20

build:   ## builds the release programs errand and errand-image
	@scripts/release.sh

run:     ## starts PostgreSQL and Errand, shows the jobs of all apps at work, serves until Ctrl-C
	@scripts/run.sh

ci:      ## what has to hold before a change lands, cheapest first: all of the checks and tests below it
	@scripts/ci.sh

test:    ## runs the tests; FILTER=Claim runs those whose name holds it
	@scripts/test.sh $(if $(FILTER),--filter '$(FILTER)')

test-clients: ## runs workers in Python, Node.js and Go, which pull jobs by SQL, and kills one
	@scripts/test-clients.sh

test-pooled: ## runs the tests that depend on sessions again, behind PgBouncer in transaction mode
	@scripts/test-pooled.sh $(if $(FILTER),--filter '$(FILTER)')

test-managed: ## migrates and runs jobs by a login without superuser, as managed servers have it; VERSIONS="15 18"
	@scripts/test-managed.sh $(VERSIONS)

test-previous: ## runs the last released program beside this one, on one database, under load
	@scripts/test-previous.sh

test-web: ## walks through the operators' page in Chromium; FULL=1 measures its pages at ten million jobs
	@FULL='$(FULL)' scripts/test-web.sh

bench:   ## measures Errand beside its peers; SCENARIO=drain CONTENDERS=errand,c ROUNDS=5 FULL=1 BEFORE=main~5 choose
	@BEFORE='$(BEFORE)' scripts/bench.sh $(SCENARIO) $(if $(CONTENDERS),--contenders '$(CONTENDERS)') \
		$(if $(ROUNDS),--rounds '$(ROUNDS)') $(if $(FULL),--full) $(if $(PINNED),--pinned '$(PINNED)')

questions: ## times each call of docs/operations.md at 10,000,000 jobs, in a database below .errand/status
	@Benchmarks/Status/status.sh questions
test-traces: ## has a real worker send its spans to a receiver that decodes them by OpenTelemetry's definitions
	@scripts/test-traces.sh

test-alerts: ## causes the fault of each alert, and waits until a real Prometheus fires and clears it
	@scripts/alerts.sh $(ALERT)

faults:  ## kills, stops and starves the program, and counts what was lost, for more than an hour; FILTER as with test
	@scripts/faults.sh '$(FILTER)'

swarm:   ## measures 200 idle worker processes on one database, directly and behind PgBouncer; WORKERS=50
	@scripts/swarm.sh $(WORKERS)

cells:   ## measures a worker for three servers of which one is killed, and a front; FILTER="lost cost front grow move"
	@scripts/cells.sh $(FILTER)

failover: ## fails PostgreSQL over under load, with Patroni, etcd and HAProxy; FILTER=switchover or haproxy; needs root
	@scripts/failover.sh $(FILTER)

docs:    ## writes the parts of docs/sql.md and docs/apps/sql.md that are made from the schema
	@ERRAND_BIN=$$(scripts/build.sh debug) scripts/checks/schema.sh interface write

checks:  ## checks the rules that no test covers
	@scripts/checks.sh

dist:    ## packs a tarball, a Debian package and the wheel for Python, in .errand/dist
	@scripts/dist.sh

dist-test: ## installs the package in a new Debian 12, runs its processes, and removes it; needs root
	@scripts/checks/dist.sh

release: ## enters what this commit has of the schema as released; NEXT=0.2.0 is the version after it
	@scripts/released.sh add '$(NEXT)'

format:  ## lays out all Swift files
	swift format --in-place --parallel --recursive Package.swift Sources Tests Examples Benchmarks jobs sql

clean:   ## removes what was built, and the databases of make run, make test and make bench
	@for folder in .errand/*/; do [ ! -d "$$folder" ] || scripts/cluster.sh drop "$$folder"; done
	rm -rf .build .build-* .errand
