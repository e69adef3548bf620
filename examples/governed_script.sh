#!/bin/sh
# A shell script that is governed line by line:  sh examples/governed_script.sh FOLDER
# docs/govern-a-shell-script.md tells how it works.
set -eu
cd "${1:?name the folder to tidy}"

# The run belongs to this script; the calls below find it by INTERLOCK_RUN.
INTERLOCK_RUN=$(interlock run start --task "tidy $1" --wall-time 600)
export INTERLOCK_RUN
trap 'interlock run end --failed' EXIT

# Interlock decides about each of these lines, runs it, and records how it ended.
for name in build dist; do
    interlock run exec -- rm -rf "$name"
done
interlock run exec -- sh -c 'date > tidied.txt'

# What a person must approve waits for `interlock approve`; here it does not wait (exit code 3).
interlock run exec --wait 0 -- git push --force || echo "not pushed: exit code $?"

# To end a run again changes nothing: the trap finds it ended.
interlock run end --completed
