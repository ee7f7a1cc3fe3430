#!/usr/bin/env bash
# What `make fuzz` has found in files, again: nothing but an answer or one message comes of it.
set -euo pipefail

tests/fuzz/fuzz.py "$BUILD" --inputs tests/fuzz/inputs/*
