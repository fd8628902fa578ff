#!/bin/sh
# Runs three agents side by side, each in a pane of its own, waits for them and
# shows what they wrote. Watch them meanwhile: herdr session attach shspawn-demo
# (or tmux -L shspawn-demo attach).
#
# usage: spawn.sh [COMMAND…]   the agent; it is told its number in $N
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- sh -c 'sleep 1; echo "agent $N is done" > "out-$N"'

for n in 1 2 3; do
  # jq writes JSON safely; the token reaches the agent and nobody else.
  jq -cn --arg n "$n" --arg cwd "$work" --arg token "${TOKEN:-none}" --args \
    '{space: "demo", name: "agent-\($n)", cwd: $cwd, command: $ARGS.positional, env: {N: $n}, secret_env: {TOKEN: $token}}' -- "$@" |
    shspawn start | jq -r '"started \(.name) in pane \(.pane_id) of \(.runtime)"'
done
for n in 1 2 3; do
  shspawn wait --space demo --timeout 1m "agent-$n"
done
cat "$work"/out-*
