import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

KINDS = (
    ["attack_received", "attack_withdrawn", "attack_verdicts", "attack_broke", "defense_published", "defense_staked"]
    + ["defense_broken", "stake_changed", "money_posted", "money_paid", "team_news", "team_association"]
    + ["team_entitlement", "question_waiting", "pictures_valid", "appeals_closing", "appeal_received", "appeal_against"]
    + ["case_opened", "case_due", "case_no_quorum", "case_decided", "ruling_changed", "organizer_entitlement"]
    + ["release_failed", "letters_given_up"]
)
GROUPS = ["attacks", "defenses", "money", "cases", "team", "organizing"]
RATES = ["at_once", "digest", "app"]


def _choices(words):
    return [(word, word.replace("_", " ")) for word in words]


def _keep_what_was_sent(apps, schema_editor):
    """What was taken had left; who was told of it by e-mail finds it here as read."""
    Message, ReleaseLetter = (apps.get_model("contest", name) for name in ("Message", "ReleaseLetter"))
    ReleaseLetter.objects.filter(taken_at__isnull=False).update(sent_at=F("taken_at"))
    Message.objects.filter(taken_at__isnull=False).update(sent_at=F("taken_at"), read_at=F("taken_at"))
    for row in Message.objects.iterator():
        page = row.facts.get("own") or row.facts.get("page") or ""
        row.about = "/" + page.split("/", 3)[3] if page.count("/") >= 3 else ""
        row.save(update_fields=["about"])
    if schema_editor.connection.vendor == "postgresql":
        # A row that was changed twice is checked at the end, and until then the table takes no index.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        schema_editor.execute("SET CONSTRAINTS ALL DEFERRED")


class Migration(migrations.Migration):
    """Letters to teams become messages to everybody but taskers, which the application shows too."""

    dependencies = [("contest", "0015_board"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.RemoveIndex("TeamLetter", "team_letter_due"),
        migrations.RenameModel("TeamLetter", "Message"),
        migrations.CreateModel(
            name="Digest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("taken_at", models.DateTimeField(null=True)),
                ("sent_at", models.DateTimeField(null=True)),
                ("not_before", models.DateTimeField(null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("error", models.CharField(blank=True, default="", max_length=300)),
                ("day", models.DateField()),
                ("made_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=["user", "day"], name="digest_once_a_day")],
                "indexes": [models.Index(fields=["id"], name="digest_due", condition=Q(taken_at__isnull=True))],
            },
        ),
        migrations.CreateModel(
            name="MessagePreference",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("group", models.CharField(choices=_choices(GROUPS), max_length=10)),
                ("rate", models.CharField(choices=_choices(RATES), max_length=7)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="message_preferences",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=["user", "group"], name="message_preference_once")]
            },
        ),
        migrations.CreateModel(
            name="Told",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=_choices(KINDS), max_length=24)),
                ("fact", models.BigIntegerField()),
                ("told_at", models.DateTimeField()),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="contest.team"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=["kind", "fact", "team"], name="fact_told_once")]
            },
        ),
        migrations.AlterField(
            "Message", "kind", models.CharField(choices=_choices(KINDS), max_length=24)
        ),
        migrations.AlterField(
            "Message",
            "team",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="messages", to="contest.team"
            ),
        ),
        migrations.AlterField(
            "Message",
            "user",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="messages", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField("Message", "key", models.CharField(blank=True, default="", max_length=80)),
        migrations.AddField("Message", "about", models.CharField(blank=True, default="", max_length=200)),
        migrations.AddField("Message", "read_at", models.DateTimeField(null=True)),
        migrations.AddField("Message", "sent_at", models.DateTimeField(null=True)),
        migrations.AddField("Message", "error", models.CharField(blank=True, default="", max_length=300)),
        migrations.AddField(
            "Message", "rate", models.CharField(choices=_choices(RATES), default="at_once", max_length=7)
        ),
        migrations.AddField(
            "Message",
            "digest",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="messages", to="contest.digest"
            ),
        ),
        migrations.AddField("ReleaseLetter", "sent_at", models.DateTimeField(null=True)),
        migrations.AddField("ReleaseLetter", "error", models.CharField(blank=True, default="", max_length=300)),
        migrations.AddIndex("Message", models.Index(fields=["user", "-made_at"], name="message_of_person")),
        migrations.AddIndex(
            "Message", models.Index(fields=["user"], name="message_unread", condition=Q(read_at__isnull=True))
        ),
        migrations.AddIndex(
            "Message",
            models.Index(fields=["id"], name="message_due", condition=Q(rate="at_once", taken_at__isnull=True)),
        ),
        migrations.AddIndex(
            "Message",
            models.Index(fields=["id"], name="message_failing", condition=Q(taken_at__isnull=True, tries__gt=0)),
        ),
        migrations.AddIndex(
            "Message",
            models.Index(
                fields=["user"],
                name="message_for_digest",
                condition=Q(rate="digest", digest__isnull=True, taken_at__isnull=True),
            ),
        ),
        migrations.AddConstraint(
            "Message",
            models.UniqueConstraint(fields=["user", "kind", "key"], condition=~Q(key=""), name="message_told_once"),
        ),
        migrations.RunPython(_keep_what_was_sent, migrations.RunPython.noop),
    ]
