#!/usr/bin/env bash
# A real SLURM of one node on this machine, for tests: as root, on Debian or Ubuntu, without systemd or cgroups.
# It has the partitions cpu and gpu and two GPUs that are none; its own munge; no accounting. Installs what is missing.
# Calling it again while it is up changes nothing; down.sh ends it. Everything it writes lies in the state folder, except
# two links in /etc/slurm, where srun inside a job looks, and a line in /etc/hosts where the host's name has no address.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ "$(id -u)" = 0 ] || die "needs root"
for file in slurm.conf gres.conf; do
  is_ours "$file" || die "/etc/slurm/$file is there already and is not this rig's: it stays as it is, and no test cluster is started"
done

missing=()
for package in slurmctld slurmd slurm-client munge; do
  dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  say "installing ${missing[*]}"
  { apt-get update -qq && apt-get install -qq --no-install-recommends "${missing[@]}"; } >"$state.apt.log" 2>&1 ||
    { tail "$state.apt.log" >&2; die "apt-get could not install ${missing[*]}"; }
  rm -f "$state.apt.log"
fi

mkdir -p "$state"/{slurmctld,slurmd,munge,dev} /etc/slurm
chmod 755 "$state" "$state/munge"
host=$(hostname -s)
getent hosts "$host" >/dev/null || echo "127.0.0.1 $host $hosts_mark" >>/etc/hosts
address=$(getent ahostsv4 "$host" | awk '{ print $1; exit }')
sed -e "s|@HOST@|$host|g" -e "s|@ADDRESS@|$address|g" -e "s|@STATE@|$state|g" -e "s|@CPUS@|$cpus|g" -e "s|@GPUS@|2|g" \
  "$here/slurm.conf.in" >"$state/slurm.conf"
# slurmd counts a GPU only where it has a device file; any will do, since no cgroup guards it.
for gpu in 0 1; do ln -sf /dev/null "$state/dev/nvidia$gpu"; done
echo "NodeName=$host Name=gpu File=$state/dev/nvidia[0-1] Flags=nvidia_gpu_env" >"$state/gres.conf"
for file in slurm.conf gres.conf; do ln -sf "$state/$file" "/etc/slurm/$file"; done

if ! running munged; then
  [ -s "$state/munge/key" ] || (umask 077 && head -c 128 /dev/urandom >"$state/munge/key")
  munged --socket="$state/munge/socket" --key-file="$state/munge/key" --pid-file="$state/munged.pid" \
    --log-file="$state/munge/log" --seed-file="$state/munge/seed"
fi
running slurmctld || slurmctld
running slurmd || slurmd

for _ in $(seq 300); do
  nodes=$(sinfo --noheader --partition=gpu --format=%t 2>/dev/null || true)
  case $nodes in
    idle | mix | alloc) say "up: $(sinfo --noheader --format='%P %c CPUs %m MB %G' | paste -sd';')"; exit 0 ;;
    down* | drain*) scontrol update NodeName="$host" State=RESUME 2>/dev/null || true ;;
  esac
  sleep 0.2
done
tail -n 20 "$state"/slurm{ctld,d}.log >&2
die "the node is '${nodes:-unknown}' after a minute"
