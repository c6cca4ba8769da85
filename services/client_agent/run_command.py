"""`fgpr-agent run`: the agent at work, until it is stopped."""

import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from client_agent import agent_toml, membership, owner_floors
from client_agent.agent_toml import FloorSection
from client_agent.command_line import DEFAULT_HOME, Config, Home, say, telling
from client_agent.events import Event, Kind
from client_agent.own_data import OwnData, file_of
from client_agent.own_rows import Report
from client_agent.participate import participate
from client_agent.status_file import StatusKeeper
from fgpr.secagg.suites import SuiteName

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Your rows: CSV, C-MAPSS text, Parquet or MATLAB; else as agent.toml says."),
]
Unit = Annotated[int | None, typer.Option("--unit", help="Take the rows of this unit only.")]
Target = Annotated[
    str | None, typer.Option("--target", help="Column of the target, where yours has another name than the model's.")
]


def run(
    data: Data = None,
    home: Home = DEFAULT_HOME,
    config: Config = None,
    unit: Unit = None,
    target: Target = None,
    rounds: Annotated[int | None, typer.Option("--rounds", min=1, help="End after that many rounds.")] = None,
    min_cohort: Annotated[
        int | None,
        typer.Option("--min-cohort", min=3, help="Fewest contributions that may be opened together.", show_default="3"),
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(
            "--gamma",
            min=0.0,
            max=1.0,
            help="Least share of clients that a plan takes for corrupt.",
            show_default="0.2",
        ),
    ] = None,
    max_groups: Annotated[
        int | None,
        typer.Option(
            "--max-groups", min=1, help="Most groups whose averages a round may reveal apart.", show_default="32"
        ),
    ] = None,
    suite: Annotated[
        SuiteName | None, typer.Option("--suite", help="Weakest suite of boxes.", show_default="x25519")
    ] = None,
    accept_carries: Annotated[
        int | None,
        typer.Option(
            "--accept-carries", min=0, help="Rounds in a row that may start from the same theta.", show_default="1"
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise",
            min=0.0,
            help="Least noise multiplier of differential privacy; 0 takes none, too.",
            show_default="0",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", envvar="FGPR_EPSILON", help="Most that all rounds together may cost in privacy."),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            "--delta", envvar="FGPR_DELTA", help="Delta at which --epsilon is counted.", show_default="0.00001"
        ),
    ] = None,
) -> None:
    """Take part in rounds until it is stopped.

    The data file is read anew for each round, and may grow meanwhile. Columns are matched to the model by name, or as
    agent.toml in the home says (docs/agent.md). Floors may stand there, too: of file and options the stricter holds.
    The agent may be stopped and killed at any time: start it again, and it goes on where it was.
    """
    if (epsilon is not None and epsilon <= 0) or (delta is not None and not 0 < delta < 1):
        raise typer.BadParameter("--epsilon is above 0, --delta between 0 and 1")
    options = FloorSection(
        min_cohort=min_cohort,
        gamma=gamma,
        groups=max_groups,
        suite=suite,
        carries=accept_carries,
        noise=noise,
        epsilon=epsilon,
        delta=delta,
    )
    # As from the keyboard: a process that is number 1 of a container would not end by itself.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    revoked: list[Event] = []
    with telling():
        settings = agent_toml.load(home, config)
        said = owner_floors.stricter(options, settings.floors)
        floors, budget = owner_floors.floors_of(said), owner_floors.budget_of(said)
        membership.load(home)
        path = file_of(data, settings)
        keeper: list[StatusKeeper] = []

        def show(event: Event) -> None:
            if event.kind is Kind.REVOKED:
                revoked.append(event)
            keeper[0].note(event)
            say(f"{event.at:%Y-%m-%d %H:%M:%S}  {f'round {event.round}: ' if event.round else ''}{event.text}")

        def tell(report: Report) -> None:
            keeper[0].note_rows(report)
            say(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {'; '.join(report.lines())}")

        def begin() -> None:
            keeper.append(StatusKeeper(home, lambda: datetime.now(UTC), owner_floors.as_json(floors, budget)))

        with membership.connect(home, tell=say, settings=settings) as api:
            try:
                participate(
                    home,
                    OwnData(path, settings, unit, target, tell),
                    api=api,
                    rounds=rounds,
                    floors=floors,
                    budget=budget,
                    on_event=show,
                    on_start=begin,
                )
            except KeyboardInterrupt:
                say("stopped; start it again to go on")
    if revoked:
        raise typer.Exit(1)
