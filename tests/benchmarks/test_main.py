"""`make bench` as a whole, on one tiny size: what it says of peers that are not there."""

import json
from pathlib import Path

import pytest

import benchmarks.__main__ as bench
from benchmarks.peer_process import peer_process


@pytest.mark.parametrize(("arguments", "met"), [([], False), (["--without-peers"], None)])
def test_peers_that_are_not_installed_are_said_to_be_not_measured(
    arguments: list[str],
    met: bool | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bench, "QUICK_SIZES", ((8, 1),))
    monkeypatch.setattr(bench, "KERNELS", ("rbf",))
    monkeypatch.setattr(bench, "peer_process", lambda: peer_process(tmp_path / "python"))
    report = tmp_path / "bench.json"
    status = bench.main(["--quick", "--report", str(report), *arguments])
    lines = {line["name"]: line for line in json.loads(report.read_text())}
    for peer, target in (("GPyTorch", ">= 15"), ("JAX", ">= 3")):
        line = lines[f"step rbf 8x1: {peer} / fgpr"]
        assert (line["value"], line["target"], line["met"]) == (None, target, met)
    if met is False:
        assert status == 1
    printed = capsys.readouterr().out
    # Two columns of each peer, in cells that may be broken over two lines; and the sentence above the table.
    assert printed.count("measured") >= 5
    assert "GPyTorch and JAX were not measured: make setup-peers" in printed
