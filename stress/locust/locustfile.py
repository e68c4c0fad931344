"""Users that send the mix without a pause, each on a connection of its own."""

import csv
import random
from typing import Any

from locust import FastHttpUser, events, task
from locust.env import Environment
from locust.stats import PERCENTILES_TO_REPORT, StatsCSV

from mix import MIX

WEIGHTS = [kind.weight for kind in MIX]


@events.quitting.add_listener
def write_last_table(environment: Environment, **_: Any) -> None:
    """Locust's own last table is up to a second old when it ends."""
    options = environment.parsed_options
    if options and options.csv_prefix:
        with open(f"{options.csv_prefix}_stats.csv", "w", newline="", encoding="utf-8") as file:
            StatsCSV(environment, PERCENTILES_TO_REPORT).requests_csv(csv.writer(file))


class Sender(FastHttpUser):
    """Sends one webhook after the other."""

    connection_timeout = network_timeout = 30.0

    @task
    def send(self) -> None:
        """Only the right answer is a success: a wrong signature that is taken fails."""
        kind = random.choices(MIX, WEIGHTS)[0]
        request = kind.request()
        with self.client.post(
            request.path, data=request.body, headers=request.headers, name=kind.name, catch_response=True
        ) as answer:
            if answer.status_code == kind.status:
                answer.success()
            else:
                answer.failure(f"{answer.status_code} instead of {kind.status}")
