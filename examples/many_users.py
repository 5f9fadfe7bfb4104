"""A batch from one data frame to another: chance decides, with a secret key, and next month continues this one."""

import os

import pandas as pd

import elsewhere as ew

os.environ["ELSEWHERE_KEY"] = "5e" * 32  # an example; leave it out, and you use a secret key of your own
policy = ew.Policy("hide", sensitive=("preset:health",), method="drawn")

january = pd.DataFrame(
    [("ann", "Café", 7), ("ann", "Clinic", 2), ("ann", "Gym", 4), ("bob", "Café", 3), ("bob", "Park", 9)],
    columns=["user", "location", "count"],
)
first = ew.batch(policy, january)
print(first.releases.to_pandas().to_string(index=False))

more = pd.DataFrame([("ann", "Gym", 5), ("bob", "Park", 1)], columns=january.columns)
february = pd.concat([january, more]).groupby(["user", "location"], as_index=False).sum()
second = ew.batch(policy, february, since=first.releases)
print(second.releases.to_pandas().to_string(index=False))
print(second["released"], "of", second["users"], "released;", second["failed_checks"], "failed checks")
