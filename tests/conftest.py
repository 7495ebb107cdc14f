"""How hypothesis tries things: the same in every run, however slow the machine, so that a failure tells of a change."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
