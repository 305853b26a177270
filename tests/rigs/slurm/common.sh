# What up.sh and down.sh share.
state=${SLURM_RIG:-/var/tmp/slurm-rig} # the folder of everything that the rig writes
cpus=${SLURM_RIG_CPUS:-4}              # CPUs that the node claims; jobs are not bound to any
hosts_mark="# slurm rig $state"

say() { echo "slurm rig: $*"; }
die() {
  say "$*" >&2
  exit 1
}

# Is /etc/slurm/FILE this rig's, or nobody's?
is_ours() {
  [ ! -e "/etc/slurm/$1" ] && [ ! -L "/etc/slurm/$1" ] || [ "$(readlink "/etc/slurm/$1")" = "$state/$1" ]
}

# Prints the process id of DAEMON, if the one that the rig started still runs.
pid_of() {
  local pid
  pid=$(cat "$state/$1.pid" 2>/dev/null) || return 1
  case $(readlink "/proc/$pid/exe") in */"$1"*) echo "$pid" ;; *) return 1 ;; esac
}

running() { pid_of "$1" >/dev/null; }
