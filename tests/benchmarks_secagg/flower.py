"""Flower's SecAgg+ in memory, in an environment and a process of its own (`make setup-flower`).

Flower's own client mod and server workflow play one round; only the network between them is a loop here. Messages are
written down and read again on the way, which counts for neither side. Run as `python -m benchmarks_secagg.flower`: it
says its version, reads one `FlowerRound` a line and answers with one `FlowerCost`, all as JSON.
"""

import json
import logging
import os
import random
import sys
from collections.abc import Iterable
from dataclasses import asdict
from time import process_time
from typing import Any

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr
import numpy as np
from flwr.app import Context, Message, RecordDict
from flwr.client import Client, ClientApp, NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.common import ndarrays_to_parameters
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.server import Grid, LegacyContext
from flwr.server.strategy import FedAvg
from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

from benchmarks_secagg.flower_round import FlowerCost, FlowerRound

BEFORE_LOSS = 2
"""Stages that everybody answers, set up and share keys: a client lost after them is what repairs are for."""


class Trained(NumPyClient):
    """A client whose training is already done."""

    def __init__(self, values: np.ndarray, weight: int) -> None:
        self._values, self._weight = values, weight

    def fit(self, parameters: list[np.ndarray], config: dict[str, Any]) -> tuple[list[np.ndarray], int, dict[str, Any]]:
        """What it would have learnt."""
        del parameters, config
        return [self._values], self._weight, {}


class Clients(Grid):
    """All clients, asked by direct calls; it keeps CPU seconds and bytes of each."""

    def __init__(self, asked: FlowerRound, values: np.ndarray) -> None:
        def client(context: Context) -> Client:
            del context
            return Trained(values, asked.weight).to_client()

        self._app = ClientApp(client_fn=client, mods=[secaggplus_mod])
        # Ids of nodes fill most of 63 bits there too, which is what they take in messages.
        draw = random.Random(asked.clients)
        self._contexts = {
            node: Context(1, node, {}, RecordDict(), {})
            for node in (draw.getrandbits(62) + 1 for _ in range(asked.clients))
        }
        self._nodes = list(self._contexts)
        self._lost = set(self._nodes[asked.clients - asked.lost :])
        self._stages = 0
        self.seconds = dict.fromkeys(self._nodes, 0.0)
        self.up = dict.fromkeys(self._nodes, 0)
        self.away = 0.0

    @property
    def run(self) -> Run:
        """Some run."""
        return Run.create_empty(1)

    def get_node_ids(self) -> Iterable[int]:
        """All of them."""
        return self._nodes

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        """Ask each client and wait; those who are lost no longer answer."""
        del timeout
        start = process_time()
        replies = []
        for message in messages:
            node = message.metadata.dst_node_id
            if self._stages >= BEFORE_LOSS and node in self._lost:
                continue
            received = message_from_proto(message_to_proto(message))
            began = process_time()
            reply = self._app(received, self._contexts[node])
            self.seconds[node] += process_time() - began
            written = message_to_proto(reply)
            self.up[node] += written.content.ByteSize()
            replies.append(message_from_proto(written))
        self._stages += 1
        self.away += process_time() - start
        return replies

    def cost(self, server_seconds: float, off: float) -> FlowerCost:
        """Of the clients that stayed to the end: their mean, so that one that was disturbed counts little."""
        stayed = [node for node in self._nodes if node not in self._lost]
        return FlowerCost(
            client=1000.0 * sum(self.seconds[node] for node in stayed) / len(stayed),
            server=1000.0 * (server_seconds - self.away),
            upload=sum(self.up[node] for node in stayed) // len(stayed),
            off=off,
        )

    def set_run(self, run: Run) -> None:
        """Nothing to do here."""

    def create_message(self, *arguments: Any, **named: Any) -> Message:
        """The workflows make theirs themselves."""
        raise NotImplementedError

    push_messages = pull_messages = create_message


def play(asked: FlowerRound) -> FlowerCost:
    """One round: everybody is a neighbour of everybody, so that its promise is like ours."""
    values = np.linspace(-2.0, 2.0, asked.numbers)
    published: list[np.ndarray] = []

    def publish(number: int, parameters: list[np.ndarray], config: dict[str, Any]) -> None:
        del number, config
        published[:] = parameters

    clients = Clients(asked, values)
    strategy = FedAvg(
        fraction_evaluate=0.0,
        min_fit_clients=asked.clients,
        min_available_clients=asked.clients,
        initial_parameters=ndarrays_to_parameters([np.zeros(asked.numbers)]),
        evaluate_fn=publish,
    )
    context = LegacyContext(Context(1, 0, {}, RecordDict(), {}), strategy=strategy)
    # Whose process this is, which Flower's runtime sets where it starts an app; every message is made with it.
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
    workflow = DefaultWorkflow(fit_workflow=SecAggPlusWorkflow(asked.clients, asked.threshold))
    start = process_time()
    workflow(clients, context)
    seconds = process_time() - start
    return clients.cost(seconds, float(np.abs(published[0] - values).max()))


def main() -> None:
    """Answer until the input ends."""
    logging.getLogger("flwr").setLevel(logging.ERROR)
    print(json.dumps({"Flower": flwr.__version__}), flush=True)  # noqa: T201 - the wire
    for line in sys.stdin:
        print(json.dumps(asdict(play(FlowerRound(**json.loads(line))))), flush=True)  # noqa: T201 - the wire


if __name__ == "__main__":
    main()
