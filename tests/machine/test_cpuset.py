"""The CPUs that cgroups allow, on made trees."""

from cputrain.machine import cpuset, facts

GROUP = "/sys/fs/cgroup/user.slice/job"


def test_the_innermost_cpuset_counts_and_an_empty_one_is_its_parent_s(server):
    server.put({"/sys/fs/cgroup/cpuset.cpus.effective": "0-15"})
    server.put({"/sys/fs/cgroup/user.slice/cpuset.cpus.effective": "0-7"})
    assert cpuset.allowed(server.root) == "0-7"
    server.put({f"{GROUP}/cpuset.cpus.effective": ""})
    assert cpuset.allowed(server.root) == "0-7"
    server.put({f"{GROUP}/cpuset.cpus.effective": "2"})
    assert cpuset.allowed(server.root) == "2"


def test_version_1_has_a_folder_of_its_own(server):
    server.put({"/proc/self/cgroup": "3:cpuset:/docker/ab\n1:cpu:/docker/ab\n0::/"})
    server.put({"/sys/fs/cgroup/cpuset/cpuset.effective_cpus": "4-5"})
    assert cpuset.allowed(server.root) == "4-5"


def test_a_cgroup_s_own_list_comes_before_its_parent_s_whatever_the_file_is_called(server):
    """A fact and what doctor says are one reading."""
    server.put({"/sys/fs/cgroup/cpuset.effective_cpus": "0-15", f"{GROUP}/cpuset.cpus": "3"})
    assert cpuset.allowed(server.root) == "3"
    assert facts.read_facts(server.root).values["cgroup_cpuset"] == "3"
