"""What a proxy in between loses: each request on its way there, each answer on its way back."""

from kills.faults import Fault
from kills.script import Act
from kills.site import Site

LOST = ("request", "answer")


class LossFaults:
    """One request or one answer of an act is lost; whoever asked does so again."""

    def enumerate(self, site: Site, act: Act) -> list[Fault]:
        """Every one of them."""
        before = site.asked
        act.play(site)
        return [Fault(lost, number, "HTTP") for number in range(1, site.asked - before + 1) for lost in LOST]

    def inject(self, site: Site, act: Act, fault: Fault) -> bool:
        """Play an act with one loss."""
        site.losses = {site.asked + fault.at: fault.kind}
        act.play(site)
        return not site.losses and site.restarts == 0
