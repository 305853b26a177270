#!/usr/bin/env bash
# Ends what up.sh started: jobs, daemons, files. Nobody else's: daemons by the process ids that they wrote in the state folder.
set -uo pipefail
. "$(dirname "$0")/common.sh"

if running slurmctld; then
  timeout 10 scancel --user="$(id -un)"
  for _ in $(seq 50); do
    [ -z "$(timeout 5 squeue --noheader)" ] && break
    sleep 0.2
  done
fi
for daemon in slurmd slurmctld munged; do
  pid=$(pid_of "$daemon") || continue
  kill "$pid"
  for _ in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null && say "$daemon did not end and was killed" >&2
done
for file in slurm.conf gres.conf; do
  [ -L "/etc/slurm/$file" ] && is_ours "$file" && rm "/etc/slurm/$file"
done
# Not sed --in-place: in a container /etc/hosts cannot be replaced by another file.
if grep -qF "$hosts_mark" /etc/hosts; then
  others=$(grep -vF "$hosts_mark" /etc/hosts)
  echo "$others" >/etc/hosts
fi
[ -f "$state/slurm.conf" ] && rm -r "$state"
say "down"
