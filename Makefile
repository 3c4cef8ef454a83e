# For those who work on Planwatch; to use it, 'python3 run.py' is enough.
PYTHON := .venv/bin/python
# No host may stand in the lock files.
PINS := --upgrade --generate-hashes --strip-extras --allow-unsafe \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.DEFAULT_GOAL := help

help:  ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) \
	| awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

demo:  ## run the flights demo
	python3 run.py

check:  ## static checks, house-keeping and the tests the change reaches: before a commit
	python3 run.py test --quick

lint:  ## ruff, both ways
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

test:  ## everything: what CI runs, set-up included
	python3 run.py test

test-spark:  ## the tests that start Spark
	python3 run.py test tests/spark

test-web:  ## the tests that drive a browser
	python3 run.py test tests/web

golden:  ## write the golden files anew; review the diff
	$(PYTHON) -m pytest -q --update-golden tests/unit tests/contract tests/systems

bench:  ## the comparisons with the peers
	python3 run.py bench

pins:  ## resolve requirements*.in anew (needs pip-tools on the PATH)
	CUSTOM_COMPILE_COMMAND='make pins' pip-compile -q $(PINS) -o requirements.txt requirements.in
	CUSTOM_COMPILE_COMMAND='make pins' pip-compile -q $(PINS) -o requirements-dev.txt requirements-dev.in

.PHONY: help demo check lint test test-spark test-web golden bench pins
