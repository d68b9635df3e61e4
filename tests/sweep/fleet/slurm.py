"""A real Slurm of two nodes on this host, with munge, all in one folder."""

import contextlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

NEEDED = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "squeue", "scontrol")
NODES = ("n1", "n2")
PATIENCE_S = 60.0
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
CONFIGURATION = """
ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=60 State=UP
PartitionName=first Nodes=n1 MaxTime=60 State=UP
"""


def missing():
    """Why Slurm cannot be started here, or nothing."""
    if absent := [name for name in NEEDED if shutil.which(name, path=PATH) is None]:
        packages = "apt install slurmctld slurmd slurm-client munge"
        return f"no {', '.join(absent)} (Debian: {packages})"
    return "" if os.geteuid() == 0 else "Slurm's daemons have to be started as root"


class Slurm:
    """Its daemons. `env` is what its commands need."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "state").mkdir(parents=True)
        folder.chmod(0o755)
        self.env = {**os.environ, "PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}
        text = CONFIGURATION.format(host=platform.node(), ports=_ports(3), folder=folder)
        (folder / "slurm.conf").write_text(text)
        (folder / "key").write_bytes(os.urandom(1024))
        (folder / "key").chmod(0o600)
        files = [f"--{kind}={folder}/munge.{kind}" for kind in ("socket", "pid-file", "log-file")]
        seed = f"--seed-file={folder}/munge.seed"
        self.run("munged", "--force", f"--key-file={folder}/key", seed, *files)
        self.run("slurmctld")
        for node in NODES:
            self.start(node)

    def start(self, node):
        """A node's daemon, until the node can be used."""
        self.run("slurmd", "-N", node)
        state = ("sinfo", "--noheader", f"--nodes={node}", "--partition=all", "--format=%T")
        self.wait(lambda: self.run(*state) == "idle")

    def run(self, *words):
        """One command to its end; what it printed."""
        done = subprocess.run(words, env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout.strip()

    def wait(self, until):
        end = time.monotonic() + PATIENCE_S
        while not until():
            assert time.monotonic() < end, self.logs()
            time.sleep(0.1)

    def logs(self):
        return "\n".join(path.read_text()[-2000:] for path in sorted(self.folder.glob("*.log")))

    def kill(self, node):
        """End a node as a power cut does: its daemon, and all that its jobs have started.

        All are stopped before any is killed, so that none can tell of another's end.
        """
        job = self.run("squeue", "--noheader", f"--nodelist={node}", "--format=%A")
        processes = [pid for pid in _processes() if self._is_of(pid, node, job)]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        self.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=died")

    def _is_of(self, pid, node, job):
        """Whether a process is a node's daemon, a job's daemon, or something that a job started."""
        words, variables = _told(pid)
        if f"SLURM_CONF={self.env['SLURM_CONF']}" not in variables:  # another Slurm's
            return False
        is_daemon = words[:3] == ["slurmd", "-N", node]
        is_job_s = words[0].startswith(f"slurmstepd: [{job}.")
        return is_daemon or is_job_s or f"SLURMD_NODENAME={node}" in variables

    def close(self):
        """End the daemons, and what is left of jobs."""
        mine = f"SLURM_CONF={self.env['SLURM_CONF']}"
        for pid in _processes():
            if mine in _told(pid)[1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _told(pid):
    """The words and the variables that a process was started with; none where it has ended."""
    try:
        texts = [Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
    except OSError:
        return [""], []
    return [text.decode(errors="replace").split("\0") for text in texts]


def _processes():
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]


def _ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
