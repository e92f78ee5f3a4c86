"""Teams with history, attacks with receipts, stakes, the ledger, and releases on their way."""

import functools
from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import common.ids
from common.append_only import append_only
from contest.ledger_triggers import moving_balances
from contest.rules import week_of
from labeling.one_role import for_members, run, without_members

FACTS = ["contest_boarddecision", "contest_ledgerentry", "contest_award", "contest_pastmember", "contest_teammerge"]


def name_weeks(apps: Any, _: Any) -> None:
    """Write down the week of the attacks there are: the one that the policy of their moment put them in."""
    policies = list(apps.get_model("labeling", "PolicyVersion").objects.order_by("version"))
    for attack in apps.get_model("contest", "Attack").objects.order_by("pk").iterator():
        policy = next((each for each in reversed(policies) if each.in_force_from <= attack.received_at), policies[0])
        attack.week, attack.policy_id = week_of(attack.received_at, policy.numbers["time_zone"]).name, policy.pk
        attack.save(update_fields=["week", "policy"])



class Migration(migrations.Migration):

    dependencies = [
        ('contest', '0003_one_role'),
        ('labeling', '0007_one_role'),
        ("scoring", "0004_queue_order"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        run(without_members, for_members),
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('outside', 'outside'), ('pool', 'pool'), ('attackers', 'attackers'), ('defenders', 'defenders'), ('stake', 'stake'), ('team', 'team'), ('withheld', 'withheld')], max_length=9)),
                ('balance_cents', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Association',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField(null=True)),
                ('declared_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='AttackTarget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ],
        ),
        migrations.CreateModel(
            name='Award',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cents', models.PositiveBigIntegerField()),
                ('statement', models.TextField()),
                ('conditions', models.JSONField()),
                ('awarded_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='BoardDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('stake', 'stake'), ('grant', 'grant'), ('withhold', 'withhold'), ('award', 'award'), ('return', 'return')], max_length=8)),
                ('subject', models.JSONField()),
                ('details', models.JSONField(default=dict)),
                ('reason', models.TextField()),
                ('decided_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Entitlement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('paper', 'paper'), ('grant', 'grant')], max_length=5)),
                ('state', models.CharField(choices=[('asked', 'asked'), ('question', 'question'), ('accepted', 'accepted'), ('refused', 'refused'), ('withdrawn', 'withdrawn')], default='asked', max_length=9)),
                ('arxiv_id', models.CharField(blank=True, max_length=40)),
                ('email', models.EmailField(blank=True, max_length=254)),
                ('asked_at', models.DateTimeField()),
                ('question', models.TextField(blank=True)),
                ('answer', models.TextField(blank=True)),
                ('reason', models.TextField(blank=True)),
                ('decided_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('received_at', models.DateTimeField()),
                ('due_at', models.DateTimeField()),
                ('licence', models.CharField(max_length=200)),
                ('training_code', models.CharField(blank=True, max_length=64)),
                ('opened_at', models.DateTimeField(null=True)),
                ('withdrawn_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cents', models.PositiveBigIntegerField()),
                ('rule', models.CharField(max_length=8)),
                ('why', models.TextField()),
                ('causes', models.JSONField()),
                ('made_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='NearDuplicate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('distance', models.PositiveSmallIntegerField()),
                ('found_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='PastMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('joined_at', models.DateTimeField(null=True)),
                ('left_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Payment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cents', models.PositiveBigIntegerField()),
                ('asked_at', models.DateTimeField()),
                ('paid_at', models.DateTimeField(null=True)),
                ('reference', models.CharField(blank=True, max_length=200)),
                ('cancelled_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='PictureHash',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('bits', models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='QuotaDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('used', models.PositiveSmallIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='ReleaseBuild',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('week', models.CharField(max_length=8)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('running', 'running'), ('done', 'done'), ('failed', 'failed')], default='waiting', max_length=7)),
                ('stage', models.CharField(blank=True, max_length=80)),
                ('done', models.PositiveIntegerField(default=0)),
                ('total', models.PositiveIntegerField(default=0)),
                ('asked_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('seen_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('error', models.TextField(blank=True)),
            ],
        ),
        migrations.CreateModel(
            name='SamePerson',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.CharField(choices=[('email', 'email'), ('address', 'address'), ('paper', 'paper')], max_length=8)),
                ('figures', models.JSONField(default=dict)),
                ('found_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Stake',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('board', 'board'), ('team', 'team')], max_length=5)),
                ('cents', models.PositiveBigIntegerField()),
                ('asked_at', models.DateTimeField()),
                ('staked_at', models.DateTimeField(null=True)),
                ('clock_from', models.DateTimeField(null=True)),
                ('receipt', models.CharField(blank=True, max_length=200)),
                ('ended_at', models.DateTimeField(null=True)),
                ('end', models.CharField(blank=True, choices=[('broken', 'broken'), ('won', 'won'), ('overtaken', 'overtaken'), ('withdrawn', 'withdrawn'), ('void', 'void')], max_length=9)),
            ],
        ),
        migrations.CreateModel(
            name='StakeBatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('S', 5), **{}), max_length=16, unique=True)),
                ('criteria', models.TextField()),
                ('staked_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='TeamInvitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(max_length=254)),
                ('token_sha256', models.CharField(max_length=64, unique=True)),
                ('invited_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(null=True)),
                ('withdrawn_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='TeamMerge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('merged_at', models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name='attack',
            name='copy_of',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='copies', to='contest.attack'),
        ),
        migrations.AddField(
            model_name='attack',
            name='file_name',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name='attack',
            name='of_quota',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='attack',
            name='policy',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policyversion'),
        ),
        migrations.AddField(
            model_name='attack',
            name='sent_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='attack',
            name='upload',
            field=models.CharField(blank=True, max_length=32),
        ),
        migrations.AddField(
            model_name='attack',
            name='warnings',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='attack',
            name='week',
            field=models.CharField(default='', max_length=8),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='attack',
            name='withdrawn_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='attack',
            name='withdrawn_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='member',
            name='joined_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='team',
            name='merged_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='team',
            name='merged_into',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='merged', to='contest.team'),
        ),
        migrations.AlterField(
            model_name='attack',
            name='received_at',
            field=models.DateTimeField(db_index=True),
        ),
        migrations.AddConstraint(
            model_name='member',
            constraint=models.UniqueConstraint(condition=models.Q(('captain', True)), fields=('team',), name='member_one_captain'),
        ),
        migrations.AddField(
            model_name='account',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='accounts', to='contest.team'),
        ),
        migrations.AddField(
            model_name='association',
            name='declared_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='association',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='associations', to='contest.team'),
        ),
        migrations.AddField(
            model_name='attacktarget',
            name='attack',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='contest.attack'),
        ),
        migrations.AddField(
            model_name='attacktarget',
            name='defense',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='scoring.defense'),
        ),
        migrations.AddField(
            model_name='attack',
            name='targets',
            field=models.ManyToManyField(related_name='attacks', through='contest.AttackTarget', to='scoring.defense'),
        ),
        migrations.AddIndex(
            model_name='attack',
            index=models.Index(fields=['week', 'id'], name='attack_of_week'),
        ),
        migrations.AddField(
            model_name='boarddecision',
            name='decided_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='boarddecision',
            name='policy',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policyversion'),
        ),
        migrations.AddField(
            model_name='award',
            name='decision',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='awards', to='contest.boarddecision'),
        ),
        migrations.AddField(
            model_name='entitlement',
            name='asked_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='entitlement',
            name='decided_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='entitlement',
            name='decision',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='contest.boarddecision'),
        ),
        migrations.AddField(
            model_name='entitlement',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entitlements', to='contest.team'),
        ),
        migrations.AddField(
            model_name='entry',
            name='defense',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='entry', to='scoring.defense'),
        ),
        migrations.AddField(
            model_name='entry',
            name='handed_in_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='entry',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='contest.team'),
        ),
        migrations.AddField(
            model_name='entry',
            name='withdrawn_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='corrects',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='corrections', to='contest.ledgerentry'),
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='decision',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='contest.boarddecision'),
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='made_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='source',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries_out', to='contest.account'),
        ),
        migrations.AddField(
            model_name='ledgerentry',
            name='target',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries_in', to='contest.account'),
        ),
        migrations.AddField(
            model_name='nearduplicate',
            name='image',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='near_duplicates', to='labeling.image'),
        ),
        migrations.AddField(
            model_name='nearduplicate',
            name='like',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.image'),
        ),
        migrations.AddField(
            model_name='nearduplicate',
            name='seen_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='pastmember',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='past_members', to='contest.team'),
        ),
        migrations.AddField(
            model_name='pastmember',
            name='user',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='payment',
            name='asked_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='payment',
            name='entry',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payment', to='contest.ledgerentry'),
        ),
        migrations.AddField(
            model_name='payment',
            name='paid_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='payment',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='contest.team'),
        ),
        migrations.AddField(
            model_name='picturehash',
            name='image',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='perceptual_hash', to='labeling.image'),
        ),
        migrations.AddField(
            model_name='quotaday',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='quota_days', to='contest.team'),
        ),
        migrations.AddField(
            model_name='releasebuild',
            name='release',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='builds', to='contest.release'),
        ),
        migrations.AddField(
            model_name='sameperson',
            name='first',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='sameperson',
            name='second',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='stake',
            name='defense',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='stakes', to='scoring.defense'),
        ),
        migrations.AddField(
            model_name='stake',
            name='paid_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='stakes_paid', to='contest.team'),
        ),
        migrations.AddField(
            model_name='stake',
            name='received_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='award',
            name='stake',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='award', to='contest.stake'),
        ),
        migrations.AddField(
            model_name='account',
            name='stake',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='account', to='contest.stake'),
        ),
        migrations.AddField(
            model_name='stakebatch',
            name='decision',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='batch', to='contest.boarddecision'),
        ),
        migrations.AddField(
            model_name='stake',
            name='batch',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='stakes', to='contest.stakebatch'),
        ),
        migrations.AddField(
            model_name='teaminvitation',
            name='invited_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='teaminvitation',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='invitations', to='contest.team'),
        ),
        migrations.AddField(
            model_name='teammerge',
            name='into',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='merges', to='contest.team'),
        ),
        migrations.AddField(
            model_name='teammerge',
            name='merged_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='teammerge',
            name='team',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='merge', to='contest.team'),
        ),
        migrations.AddConstraint(
            model_name='association',
            constraint=models.CheckConstraint(condition=models.Q(('until__isnull', True), ('until__gt', models.F('since')), _connector='OR'), name='association_ends_after'),
        ),
        migrations.AddConstraint(
            model_name='attacktarget',
            constraint=models.UniqueConstraint(fields=('attack', 'defense'), name='attack_target_once'),
        ),
        migrations.AddConstraint(
            model_name='boarddecision',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='board_decision_has_reason'),
        ),
        migrations.AddConstraint(
            model_name='entitlement',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'paper'), _negated=True), models.Q(models.Q(('arxiv_id', ''), _negated=True), models.Q(('email', ''), _negated=True)), _connector='OR'), name='entitlement_names_paper'),
        ),
        migrations.AddConstraint(
            model_name='entitlement',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'grant'), _negated=True), ('decision__isnull', False), _connector='OR'), name='entitlement_granted'),
        ),
        migrations.AddConstraint(
            model_name='ledgerentry',
            constraint=models.CheckConstraint(condition=models.Q(('cents__gt', 0)), name='ledger_entry_moves_something'),
        ),
        migrations.AddConstraint(
            model_name='ledgerentry',
            constraint=models.CheckConstraint(condition=models.Q(('source', models.F('target')), _negated=True), name='ledger_entry_between_two'),
        ),
        migrations.AddConstraint(
            model_name='ledgerentry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('rule', ''), _negated=True), models.Q(('why', ''), _negated=True)), name='ledger_entry_says_why'),
        ),
        migrations.AddConstraint(
            model_name='nearduplicate',
            constraint=models.UniqueConstraint(fields=('image', 'like'), name='near_duplicate_once'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('cents__gt', 0)), name='payment_of_something'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.CheckConstraint(condition=models.Q(('paid_by__isnull', True), ('asked_by__isnull', True), models.Q(('paid_by', models.F('asked_by')), _negated=True), _connector='OR'), name='payment_by_two'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(('cancelled_at__isnull', True), ('paid_at__isnull', True)), fields=('team',), name='payment_one_open'),
        ),
        migrations.AddConstraint(
            model_name='quotaday',
            constraint=models.UniqueConstraint(fields=('team', 'day'), name='quota_day_once'),
        ),
        migrations.AddConstraint(
            model_name='releasebuild',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['waiting', 'running'])), fields=('week',), name='release_build_one_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='sameperson',
            constraint=models.UniqueConstraint(fields=('first', 'second', 'by'), name='same_person_once'),
        ),
        migrations.AddConstraint(
            model_name='sameperson',
            constraint=models.CheckConstraint(condition=models.Q(('first__lt', models.F('second'))), name='same_person_in_order'),
        ),
        migrations.AddConstraint(
            model_name='account',
            constraint=models.UniqueConstraint(condition=models.Q(('stake', None), ('team', None)), fields=('kind',), name='account_of_kind_once'),
        ),
        migrations.AddConstraint(
            model_name='account',
            constraint=models.UniqueConstraint(condition=models.Q(('team__isnull', False)), fields=('team',), name='account_of_team_once'),
        ),
        migrations.AddConstraint(
            model_name='account',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'team'), ('stake__isnull', True), ('team__isnull', False)), models.Q(('kind', 'stake'), ('stake__isnull', False), ('team__isnull', True)), models.Q(models.Q(('kind__in', ['team', 'stake']), _negated=True), ('stake', None), ('team', None)), _connector='OR'), name='account_of_whom'),
        ),
        migrations.AddConstraint(
            model_name='account',
            constraint=models.CheckConstraint(condition=models.Q(('balance_cents__gte', 0), ('kind', 'outside'), _connector='OR'), name='account_not_overdrawn'),
        ),
        migrations.AddConstraint(
            model_name='stake',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('defense',), name='stake_one_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='stake',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('batch__isnull', False), ('kind', 'board'), ('paid_by__isnull', True)), models.Q(('batch__isnull', True), ('kind', 'team'), ('paid_by__isnull', False)), _connector='OR'), name='stake_of_board_or_team'),
        ),
        migrations.AddConstraint(
            model_name='stake',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('end', ''), ('ended_at__isnull', True)), models.Q(('ended_at__isnull', False), models.Q(('end', ''), _negated=True)), _connector='OR'), name='stake_ends_somehow'),
        ),
        run(for_members, without_members),
        migrations.RunPython(name_weeks, migrations.RunPython.noop),
        moving_balances(),
        append_only(FACTS),
    ]
