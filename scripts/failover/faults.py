"""The faults. Each is done to the primary under load, and returns how it is repaired, and after how many seconds."""

import time


class Repair:
    """What ends a fault, `after` seconds; by then another host must have taken over, unless `same` allows the old one.

    The first claim must come within `claim` seconds after the new primary.
    """

    def __init__(self, after=0, action=lambda: None, same=False, claim=3):
        self.after, self.action, self.same, self.claim = after, action, same, claim


def switchover(rig, primary):
    primary.rest("switchover", {"leader": primary.name}, "POST")
    return Repair()


def kill_primary(rig, primary):
    """Patroni starts a crashed server again, on the same host, or another one takes over."""
    primary.kill_postmaster()
    return Repair(same=True)


def kill_patroni(rig, primary):
    """PostgreSQL goes on without an agent. A supervisor starts Patroni again after 20 s.

    The old primary still accepts connections and commits nothing. Workers leave it after a statement without a reply,
    which takes 10 s; HAProxy sends them away at once.
    """
    primary.kill("patroni")
    return Repair(20, primary.start_patroni, claim=15)


def kill_both(rig, primary):
    primary.kill("patroni")
    primary.kill_postmaster()
    return Repair(20, primary.start_patroni)


def partition(rig, primary):
    """The primary's host is alive, and reaches no other one."""
    primary.cut()
    return Repair(25, primary.reconnect)


def no_quorum(rig, primary):
    """Two of three etcd members are gone for 15 s: no primary may accept writes."""
    others = [host for host in rig.hosts if host is not primary]
    for host in others:
        host.kill("etcd")
    return Repair(15, lambda: [host.start_etcd() for host in others], same=True)


def lagging(rig, primary):
    """Without synchronous_mode: no replica receives WAL any more, and then the primary is lost."""
    addresses = ", ".join(host.address for host in rig.hosts if host is not primary)
    # Before the rule, which holds before nft returns.
    lagging.since = time.time()
    primary.inside("nft", "add table inet cut; add chain inet cut out { type filter hook output priority 0; }; "
                          f"add rule inet cut out ip daddr {{ {addresses} }} tcp sport 5432 drop")
    time.sleep(1)
    kill_both(rig, primary)

    def repair():
        primary.inside("nft", "delete table inet cut")
        primary.start_patroni()
    return Repair(20, repair)


FAULTS = {"switchover": switchover, "kill-primary": kill_primary, "kill-patroni": kill_patroni,
          "kill-both": kill_both, "partition": partition, "no-quorum": no_quorum, "lagging": lagging}
