"""View of the organizers' page of monitoring rules: rules in force, events, and agreement over a period."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import organizer_of
from common.domain_clock import domain_now
from common.web.form_fields import redirect_with_message
from common.web.page import page
from monitoring.pages.rule_forms import PeriodForm, RetireRuleForm, RuleForm
from monitoring.rules import COLLECTORS
from monitoring.selectors import newest_events, open_links, public_ids_of, retired_rules, rules_in_force
from monitoring.tasker_figures import MAX_PANELS, Agreement, Period, agreement_of_period, today_in
from policy.selectors import policy_in_force

MAX_EVENTS = 50
MOVERS_SHOWN = 3


@page(organizer_of, "GET POST")
def watching(request: HttpRequest, organizer: User) -> HttpResponse:
    """Show the rules and what they found; add or retire one."""
    now, zone = domain_now(), policy_in_force(domain_now()).policy.time_zone
    retires = "retire" in request.POST
    add = RuleForm(request.POST if request.method == "POST" and not retires else None)
    sent = RetireRuleForm(request.POST) if retires else add
    if done := sent.submit(by=organizer, now=now):
        return redirect_with_message(request, done, "watching")
    period = PeriodForm(request.GET, today_in(now, zone))
    context = {
        "rules": rules_in_force(),
        "retired": retired_rules(),
        "events": newest_events(MAX_EVENTS),
        "max_events": MAX_EVENTS,
        "links": open_links(),
        "agreements": [(each, _movers(each)) for each in agreement_of_period(Period.of_days(*period.days, zone))],
        "max_panels": MAX_PANELS,
        "period": period,
        "collectors": COLLECTORS,
        "form": sent,
        "add": add,
        "now": now,
        "zone": zone,
    }
    return render(request, "monitoring/rules.html", context, status=sent.status)


def _movers(agreement: Agreement) -> list[dict[str, Any]]:
    """Return the taskers who lower Krippendorff's alpha most, with public IDs."""
    lowest = [each for each in agreement.influences if each.change < 0][:MOVERS_SHOWN]
    names = public_ids_of(each.tasker_id for each in lowest)
    return [{"tasker": names[each.tasker_id], "without": each.without} for each in lowest]
