"""A distance of your own: any function of two counts. It need not be convex, and the optimum is still exact."""

import elsewhere as ew
from elsewhere.paper import brute_force

history = ew.Histogram({"Home": 9, "Office": 6, "Gym": 2, "Clinic": 3})


def noticed(before: float, after: float) -> float:
    """A recipient notices a change of two or more visits, and does not care how large it is."""
    return float(abs(after - before) >= 2)


release = ew.hide(history, sensitive={"Clinic"}, quality=noticed)
print(dict(release.histogram), release.quality_loss, release.status)

# All histograms, one by one: how many are as good, and is one better?
every = brute_force("hide", history, sensitive={"Clinic"}, quality=noticed)
print(every.objective, len(every.histograms), release.histogram in every.histograms)
