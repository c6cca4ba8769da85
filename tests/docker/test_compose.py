"""The compose file against what the program takes, and against what its README promises."""

import ipaddress
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from aggregator.main import WORKING_THREADS
from aggregator.serving import GRACE_SECONDS, SPARE_FILES
from aggregator.settings import Settings
from aggregator.storage import postgresql
from support.compose import ALL, DOCKER, compose, of_image, project, services

REPLICAS = ["aggregator-1", "aggregator-2"]
SERVING = [*REPLICAS, "haproxy", "postgres"]


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variables of the machine that the tests run on."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"FGPR_{name.upper()}", raising=False)


def test_the_project_is_whole() -> None:
    assert compose(*ALL, "--quiet").returncode == 0
    assert sorted(services()) == sorted([*SERVING, "admin", "agent", "migrate"])
    started = sorted(name for name, told in services().items() if not told.get("profiles"))
    assert started == sorted([*SERVING, "migrate"])


def test_without_a_public_address_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("FGPR_PREFIX=/fgpr\n", encoding="utf-8")
    done = compose(*ALL, "--quiet", environment_file=tmp_path / "env")
    assert done.returncode != 0
    assert "the address that clients use" in done.stderr


def test_every_variable_is_a_setting() -> None:
    """A misspelt one would be passed over in silence: settings ignore what they do not know."""
    known = {f"FGPR_{name.upper()}" for name in Settings.model_fields}
    found = of_image("fgpr-aggregator")
    assert sorted(found) == sorted([*REPLICAS, "admin", "migrate"])
    environments = [told["environment"] for told in found.values()]
    assert all(environment == environments[0] for environment in environments)
    assert set(environments[0]) <= known
    values = {name.removeprefix("FGPR_").lower(): value for name, value in environments[0].items()}
    settings = Settings(**values)
    assert settings.database == "postgresql+psycopg://fgpr@postgres/fgpr"
    assert urlsplit(settings.origin).path == services()["haproxy"]["environment"]["FGPR_PREFIX"]


def test_the_images_variables_are_settings_too() -> None:
    known = {f"FGPR_{name.upper()}" for name in Settings.model_fields}
    text = (DOCKER / "aggregator.Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"\b(FGPR_[A-Z_]+)=", text)) == {"FGPR_DATABASE", "FGPR_KEYS"} <= known


@pytest.mark.parametrize("name", sorted([*SERVING, "admin", "agent", "migrate"]))
def test_every_container_is_held(name: str) -> None:
    told = services()[name]
    assert told["read_only"] is True
    assert told["cap_drop"] == ["ALL"]
    assert told["security_opt"] == ["no-new-privileges:true"]
    limits = told["deploy"]["resources"]["limits"]
    assert {"cpus", "memory", "pids"} <= set(limits)
    assert set(told.get("cap_add", [])) <= (
        {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"} if name == "postgres" else set()
    )
    assert not {"privileged", "pid", "ipc", "network_mode", "devices"} & set(told)
    if name in SERVING:
        assert told["restart"] == "unless-stopped"


@pytest.mark.parametrize("image", ["aggregator", "agent"])
def test_the_user_is_the_images(image: str) -> None:
    (user,) = re.findall(r"^USER (\S+)$", (DOCKER / f"{image}.Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    for told in of_image(f"fgpr-{image}").values():
        assert told["user"] == user
        assert told["build"]["dockerfile"] == f"docker/{image}.Dockerfile"
        assert Path(told["build"]["context"]) == DOCKER.parent


def test_only_the_balancer_is_reached_and_its_word_believed() -> None:
    found = services()
    assert [name for name, told in found.items() if told.get("ports")] == ["haproxy"]
    assert all(port["host_ip"] == "127.0.0.1" for port in found["haproxy"]["ports"])
    networks = project()["networks"]
    assert [name for name in sorted(networks) if not networks[name].get("internal")] == ["public"]
    assert sorted(name for name, told in found.items() if "replicas" in told["networks"]) == [*REPLICAS, "haproxy"]
    (subnet,) = networks["replicas"]["ipam"]["config"]
    address = ipaddress.ip_address(found["haproxy"]["networks"]["replicas"]["ipv4_address"])
    assert found["aggregator-1"]["environment"]["FGPR_PROXIES"] == str(address)
    assert address in ipaddress.ip_network(subnet["subnet"])
    assert address not in ipaddress.ip_network(subnet["ip_range"])
    assert ipaddress.ip_network(subnet["ip_range"]).subnet_of(ipaddress.ip_network(subnet["subnet"]))  # type: ignore[arg-type]  # both are of IPv4


def test_folders_are_mounted_and_everything_of_the_hosts_is_only_read() -> None:
    """Case E11: a database or key file mounted by itself would lose what lies beside it."""
    mounts = {(name, volume["target"]): volume for name, told in services().items() for volume in told["volumes"]}
    named = {place: volume for place, volume in mounts.items() if volume["type"] == "volume"}
    keys = services()["aggregator-1"]["environment"]["FGPR_KEYS"]
    assert sorted(named) == sorted(
        [("postgres", "/var/lib/postgresql"), ("agent", "/var/lib/fgpr")]
        + [(name, keys) for name in ("admin", "migrate", *REPLICAS)]
    )
    # The newest checkpoint is kept beside the keys, so replicas write there.
    assert not [place for place, volume in named.items() if volume.get("read_only")]
    bound = {place: volume for place, volume in mounts.items() if volume["type"] == "bind"}
    assert all(volume["read_only"] for volume in bound.values())
    assert sorted(bound) == [
        ("agent", "/data"),
        ("haproxy", "/run/tls"),
        ("haproxy", "/usr/local/etc/haproxy/haproxy.cfg"),
    ]
    # A new volume gets owner and mode of the image's folder of that name.
    assert keys in (DOCKER / "aggregator.Dockerfile").read_text(encoding="utf-8")


def test_no_secret_is_in_the_environment() -> None:
    for told in services().values():
        for name, value in told.get("environment", {}).items():
            assert name.endswith("_FILE") == bool(re.search("PASS|SECRET|TOKEN", name))
            assert not re.search(r"://[^/@]*:[^/@]*@", value or "")
    assert project()["secrets"] == {
        "database_password": {"name": "fgpr_database_password", "file": str(DOCKER / "secrets" / "database_password")}
    }
    ignored = (DOCKER.parent / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"docker/.env", "docker/secrets/"} <= set(ignored)


def test_the_schema_is_there_before_a_replica_starts() -> None:
    found = services()
    assert found["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    # It fails once, with one line: it is not tried over and over.
    assert found["migrate"]["restart"] == "no"
    for name in REPLICAS:
        assert found[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
        assert found["haproxy"]["depends_on"][name]["condition"] == "service_healthy"


def test_limits_leave_room_for_what_the_program_allows_itself() -> None:
    settings, found = Settings(), services()
    for name in REPLICAS:
        told = found[name]
        assert told["ulimits"]["nofile"]["soft"] >= settings.connections + SPARE_FILES
        limits = told["deploy"]["resources"]["limits"]
        assert int(limits["memory"]) >= 4 * settings.bodies_bytes
        # Beside those for requests: deadlines, listener, the event loop, and a health check with its shell.
        assert limits["pids"] > WORKING_THREADS + 40 + 20
        assert int(told["stop_grace_period"].removesuffix("s")) > GRACE_SECONDS
    (connections,) = [int(word.partition("=")[2]) for word in found["postgres"]["command"] if "max_conn" in word]
    # Two replicas and a command by hand, each with one connection that listens; PostgreSQL keeps three to itself.
    assert connections >= 3 * (postgresql.CONNECTIONS + 1) + 3
