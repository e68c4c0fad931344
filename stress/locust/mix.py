"""The webhooks of the seed's experiment: bodies, headers, weights and the answers that count as right."""

import hashlib
import hmac
import itertools
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

SAMPLES = Path(__file__).parents[2] / "rules" / "samples"
SECRET = os.environ.get("STRESS_SECRET", "stress-secret-of-32-characters!!")
COUNTER = itertools.count()


@dataclass(frozen=True)
class Request:
    """One HTTP request, ready to be sent."""

    path: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A kind of webhook: how many of it, what it is made of, and its right answer."""

    name: str
    weight: int
    status: int

    def request(self) -> Request:
        """A webhook that repeats no other: a repeat would not be sent."""
        own = f"{os.getpid()}-{next(COUNTER)}"
        sender, event = self.name.split(" ", 1)
        return coolify(event, own) if sender == "coolify" else github(event, own)


MIX = [
    Kind("coolify deployment_success", 5, 200),
    Kind("coolify deployment_failed", 2, 200),
    Kind("coolify malformed", 1, 400),
    Kind("github workflow_run", 5, 200),
    Kind("github deployment_status", 3, 200),
    Kind("github ping", 1, 200),
    Kind("github ignored", 1, 200),
    Kind("github wrong signature", 1, 401),
]

GITHUB = {
    "workflow_run": ("workflow_run_completed_failure", "workflow_run"),
    "deployment_status": ("deployment_status_success", "deployment_status"),
    "ping": ("ping", "ping"),
    "ignored": ("watch_started", "watch"),
    "wrong signature": ("workflow_run_completed_failure", "workflow_run"),
}
BODIES = {path.relative_to(SAMPLES).as_posix(): path.read_bytes() for path in SAMPLES.glob("*/*.json")}


def coolify(event: str, own: str) -> Request:
    """A webhook of Coolify, which has no id but the deployment's."""
    path = f"/hooks/coolify/{SECRET}"
    headers = {"Content-Type": "application/json", "User-Agent": "GuzzleHttp/7"}
    if event == "malformed":
        return Request(path, b'{"event": "deployment_failed", "success": fals', headers)
    body = json.loads(BODIES[f"coolify/{event}.json"])
    return Request(path, json.dumps(body | {"deployment_uuid": own}).encode(), headers)


def github(event: str, own: str) -> Request:
    """A webhook of GitHub, signed as its documentation says."""
    sample, header = GITHUB[event]
    body = BODIES[f"github/{sample}.json"]
    secret = "not the secret" if event == "wrong signature" else SECRET
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/044aadd",
        "X-GitHub-Event": header,
        "X-GitHub-Delivery": own,
        "X-Hub-Signature-256": f"sha256={signature}",
    }
    return Request("/hooks/github", body, headers)
