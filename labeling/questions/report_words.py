"""Words for kinds of reports and for organizers' decisions on them."""

from django.utils.translation import gettext_lazy as _

from labeling.enums import ReportDecision, ReportKind

KIND_WORDS = {
    ReportKind.DOES_NOT_LOAD: _("It does not load, or only a part of it is there"),
    ReportKind.OFFENSIVE: _("It is offensive or disturbing"),
    ReportKind.UNCLEAR: _("The instructions do not say how to answer it"),
    ReportKind.OTHER: _("Something else"),
}
DECISION_TOLD = {
    ReportDecision.REOPENED: _("Others are asked about it again."),
    ReportDecision.KEPT_OUT: _("Nobody is asked about it any more."),
}
# For organizers, whose pages are in English.
KIND_NAMES = {
    ReportKind.DOES_NOT_LOAD: "does not load",
    ReportKind.OFFENSIVE: "offensive",
    ReportKind.UNCLEAR: "instructions unclear",
    ReportKind.OTHER: "something else",
}
