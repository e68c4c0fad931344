"""Users that send the mix without a pause, each on a connection of its own."""

import random

from locust import FastHttpUser, task

from mix import MIX

WEIGHTS = [kind.weight for kind in MIX]


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
