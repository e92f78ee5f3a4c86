"""The tables of this app."""

import functools

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("contest", "0001_initial"),
        ("contest", "0002_append_only"),
        ("contest", "0003_one_role"),
        ("contest", "0004_money"),
        ("contest", "0005_stakes"),
        ("contest", "0006_teams"),
        ("contest", "0007_awards"),
        ("contest", "0008_record"),
        ("contest", "0009_leaderboard"),
        ("contest", "0010_team_letters"),
        ("contest", "0011_stake_changes"),
        ("contest", "0012_taken_back"),
        ("contest", "0013_corrections"),
        ("contest", "0014_leaderboards_anew"),
        ("contest", "0015_board"),
    ]

    dependencies = [
        ('adjudication', '0001_tables'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('labeling', '0001_tables'),
        ('scoring', '0001_tables'),
    ]

    operations = [
        migrations.CreateModel(
            name='Case',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('C', 6), **{}), max_length=16, unique=True)),
                ('kind', models.CharField(choices=[('picture', 'picture'), ('motion', 'motion')], max_length=7)),
                ('state', models.CharField(choices=[('open', 'open'), ('panel', 'panel'), ('closed', 'closed')], default='open', max_length=6)),
                ('motion', models.CharField(blank=True, choices=[('stake', 'stake'), ('grant', 'grant'), ('revoke', 'revoke'), ('withhold', 'withhold'), ('award', 'award'), ('return', 'return'), ('end', 'end'), ('forfeit', 'forfeit')], max_length=8)),
                ('subject', models.JSONField(default=dict)),
                ('details', models.JSONField(default=dict)),
                ('reason', models.TextField(blank=True)),
                ('opened_at', models.DateTimeField(db_index=True)),
                ('due_at', models.DateTimeField()),
                ('told_at', models.DateTimeField(null=True)),
                ('closed_at', models.DateTimeField(null=True)),
                ('image', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='cases', to='labeling.image')),
                ('opened_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policyversion')),
                ('result', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='adjudication.ruling')),
                ('ruling', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='cases', to='adjudication.ruling')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'open')), fields=['due_at'], name='case_undecided')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'closed'), _negated=True), fields=('image',), name='case_one_at_a_time'), models.CheckConstraint(condition=models.Q(models.Q(('image__isnull', False), ('kind', 'picture'), ('motion', ''), ('ruling__isnull', False)), models.Q(('image__isnull', True), ('kind', 'motion'), ('ruling__isnull', True), models.Q(('motion', ''), _negated=True)), _connector='OR'), name='case_of_picture_or_motion'), models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', False), ('state', 'closed')), models.Q(models.Q(('state', 'closed'), _negated=True), ('closed_at__isnull', True)), _connector='OR'), name='case_closed_at_some_time')],
            },
        ),
        migrations.CreateModel(
            name='BoardDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('stake', 'stake'), ('grant', 'grant'), ('revoke', 'revoke'), ('withhold', 'withhold'), ('award', 'award'), ('return', 'return'), ('end', 'end'), ('forfeit', 'forfeit')], max_length=8)),
                ('subject', models.JSONField()),
                ('details', models.JSONField(default=dict)),
                ('reason', models.TextField()),
                ('decided_at', models.DateTimeField()),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policyversion')),
                ('case', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='made', to='contest.case')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='board_decision_has_reason')],
            },
        ),
        migrations.CreateModel(
            name='StakeBatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('S', 5), **{}), max_length=16, unique=True)),
                ('criteria', models.TextField()),
                ('staked_at', models.DateTimeField()),
                ('decision', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='batch', to='contest.boarddecision')),
            ],
        ),
        migrations.CreateModel(
            name='Team',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('G', 5), **{}), max_length=16, unique=True)),
                ('name', models.CharField(max_length=80, unique=True)),
                ('created_at', models.DateTimeField()),
                ('merged_at', models.DateTimeField(null=True)),
                ('merged_into', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='merged', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='team_name_once')],
            },
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
                ('return_asked_at', models.DateTimeField(null=True)),
                ('return_reason', models.TextField(blank=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('end', models.CharField(blank=True, choices=[('broken', 'broken'), ('won', 'won'), ('overtaken', 'overtaken'), ('withdrawn', 'withdrawn'), ('void', 'void')], max_length=9)),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='stakes', to='scoring.defense')),
                ('received_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('batch', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='stakes', to='contest.stakebatch')),
                ('paid_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='stakes_paid', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('defense',), name='stake_one_at_a_time'), models.CheckConstraint(condition=models.Q(models.Q(('batch__isnull', False), ('kind', 'board'), ('paid_by__isnull', True)), models.Q(('batch__isnull', True), ('kind', 'team'), ('paid_by__isnull', False)), _connector='OR'), name='stake_of_board_or_team'), models.CheckConstraint(condition=models.Q(models.Q(('end', ''), ('ended_at__isnull', True)), models.Q(('ended_at__isnull', False), models.Q(('end', ''), _negated=True)), _connector='OR'), name='stake_ends_somehow')],
            },
        ),
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('outside', 'outside'), ('pool', 'pool'), ('attackers', 'attackers'), ('defenders', 'defenders'), ('stake', 'stake'), ('team', 'team'), ('withheld', 'withheld')], max_length=9)),
                ('balance_cents', models.BigIntegerField(default=0)),
                ('stake', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='account', to='contest.stake')),
                ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='accounts', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('stake', None), ('team', None)), fields=('kind',), name='account_of_kind_once'), models.UniqueConstraint(condition=models.Q(('team__isnull', False)), fields=('team',), name='account_of_team_once'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'team'), ('stake__isnull', True), ('team__isnull', False)), models.Q(('kind', 'stake'), ('stake__isnull', False), ('team__isnull', True)), models.Q(models.Q(('kind__in', ['team', 'stake']), _negated=True), ('stake', None), ('team', None)), _connector='OR'), name='account_of_whom'), models.CheckConstraint(condition=models.Q(('balance_cents__gte', 0), ('kind', 'outside'), _connector='OR'), name='account_not_overdrawn')],
            },
        ),
        migrations.CreateModel(
            name='Leaderboard',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('week', models.CharField(blank=True, max_length=8, unique=True)),
                ('at', models.DateTimeField()),
                ('tables', models.JSONField()),
                ('made_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='LeaderboardCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('checked_at', models.DateTimeField(db_index=True)),
                ('compared', models.PositiveIntegerField()),
                ('differences', models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name='Subscriber',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(max_length=254, unique=True)),
                ('key', models.CharField(default=functools.partial(common.ids.random_id, *('N', 20), **{}), max_length=24, unique=True)),
                ('confirmed_at', models.DateTimeField()),
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
                ('declared_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='associations', to='contest.team')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('until__isnull', True), ('until__gt', models.F('since')), _connector='OR'), name='association_ends_after')],
            },
        ),
        migrations.CreateModel(
            name='AssociationMistake',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('declared_at', models.DateTimeField()),
                ('association', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='mistake', to='contest.association')),
                ('declared_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Attack',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('A', 8), **{}), max_length=16, unique=True)),
                ('received_at', models.DateTimeField(db_index=True)),
                ('week', models.CharField(max_length=8)),
                ('of_quota', models.PositiveSmallIntegerField(default=0)),
                ('upload', models.CharField(blank=True, max_length=32)),
                ('file_name', models.CharField(blank=True, max_length=200)),
                ('original_sha256', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('original_format', models.CharField(blank=True, db_default='', default='', max_length=8)),
                ('warnings', models.JSONField(default=list)),
                ('withdrawn_at', models.DateTimeField(null=True)),
                ('copy_of', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='copies', to='contest.attack')),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='attacks', to='labeling.image')),
                ('policy', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policyversion')),
                ('sent_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('withdrawn_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='attacks', to='contest.team')),
            ],
            options={
                'indexes': [models.Index(fields=['week', 'id'], name='attack_of_week')],
                'constraints': [models.UniqueConstraint(fields=('team', 'image'), name='attack_once_per_team_and_image')],
            },
        ),
        migrations.CreateModel(
            name='AttackTarget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attack', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='contest.attack')),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='scoring.defense')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('attack', 'defense'), name='attack_target_once')],
            },
        ),
        migrations.CreateModel(
            name='Break',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('found_at', models.DateTimeField()),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='breaks', to='scoring.defense')),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='breaks', to='labeling.image')),
                ('prediction', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='scoring.prediction')),
                ('ruling', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='breaks', to='adjudication.ruling')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('defense', 'image', 'ruling'), name='break_once_per_ruling')],
            },
        ),
        migrations.CreateModel(
            name='CaseDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('outcome', models.CharField(choices=[('uphold', 'uphold'), ('more_taskers', 'more taskers'), ('overrule', 'overrule'), ('carried', 'carried'), ('lost', 'lost'), ('dropped', 'dropped')], max_length=12)),
                ('label', models.CharField(blank=True, choices=[('bicycle', 'bicycle'), ('bird', 'bird')], max_length=8)),
                ('reasons', models.JSONField(default=list)),
                ('explanation', models.TextField(blank=True)),
                ('votes', models.JSONField()),
                ('quorum', models.PositiveSmallIntegerField()),
                ('recused', models.PositiveSmallIntegerField()),
                ('decided_at', models.DateTimeField(db_index=True)),
                ('case', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='decision', to='contest.case')),
                ('confirmed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('panel', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.panel')),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policyversion')),
                ('ruling', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='made_by', to='adjudication.ruling')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('outcome', 'overrule'), ('ruling__isnull', False), models.Q(('explanation', ''), _negated=True)), models.Q(models.Q(('outcome', 'overrule'), _negated=True), ('ruling__isnull', True)), _connector='OR'), name='case_decision_overrules_by_ruling'), models.CheckConstraint(condition=models.Q(models.Q(('outcome', 'more_taskers'), ('panel__isnull', False)), models.Q(models.Q(('outcome', 'more_taskers'), _negated=True), ('panel__isnull', True)), _connector='OR'), name='case_decision_asks_a_panel')],
            },
        ),
        migrations.CreateModel(
            name='Digest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('taken_at', models.DateTimeField(null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('not_before', models.DateTimeField(null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('error', models.CharField(blank=True, default='', max_length=300)),
                ('day', models.DateField()),
                ('made_at', models.DateTimeField()),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('taken_at__isnull', True)), fields=['id'], name='digest_due')],
                'constraints': [models.UniqueConstraint(fields=('user', 'day'), name='digest_once_a_day')],
            },
        ),
        migrations.CreateModel(
            name='Entitlement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('paper', 'paper'), ('grant', 'grant')], max_length=5)),
                ('state', models.CharField(choices=[('asked', 'asked'), ('question', 'question'), ('accepted', 'accepted'), ('refused', 'refused'), ('withdrawn', 'withdrawn'), ('revoked', 'revoked')], default='asked', max_length=9)),
                ('arxiv_id', models.CharField(blank=True, max_length=40)),
                ('email', models.EmailField(blank=True, max_length=254)),
                ('asked_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(null=True)),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decision', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='contest.boarddecision')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entitlements', to='contest.team')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('kind', 'paper'), _negated=True), models.Q(models.Q(('arxiv_id', ''), _negated=True), models.Q(models.Q(('email', ''), _negated=True), ('author__isnull', True), _connector='OR')), _connector='OR'), name='entitlement_names_paper'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'grant'), _negated=True), ('decision__isnull', False), _connector='OR'), name='entitlement_granted'), models.UniqueConstraint(condition=models.Q(('state__in', ['asked', 'question'])), fields=('team',), name='entitlement_one_open')],
            },
        ),
        migrations.CreateModel(
            name='EntitlementStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('asked', 'asked'), ('question', 'question'), ('answer', 'answer'), ('accepted', 'accepted'), ('refused', 'refused'), ('withdrawn', 'withdrawn'), ('revoked', 'revoked')], max_length=9)),
                ('words', models.TextField(blank=True)),
                ('made_at', models.DateTimeField()),
                ('entitlement', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='steps', to='contest.entitlement')),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Examination',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('confirmed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='examinations', to='scoring.defense')),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='examinations', to='labeling.image')),
                ('ruling', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='examinations', to='adjudication.ruling')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('image', 'defense', 'ruling', 'confirmed_by'), name='examination_once_per_member')],
            },
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
                ('corrects', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='corrections', to='contest.ledgerentry')),
                ('decision', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='contest.boarddecision')),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries_out', to='contest.account')),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries_in', to='contest.account')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('cents__gt', 0)), name='ledger_entry_moves_something'), models.CheckConstraint(condition=models.Q(('source', models.F('target')), _negated=True), name='ledger_entry_between_two'), models.CheckConstraint(condition=models.Q(models.Q(('rule', ''), _negated=True), models.Q(('why', ''), _negated=True)), name='ledger_entry_says_why')],
            },
        ),
        migrations.CreateModel(
            name='MessagePreference',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('group', models.CharField(choices=[('attacks', 'attacks'), ('defenses', 'defenses'), ('money', 'money'), ('cases', 'cases'), ('team', 'team'), ('organizing', 'organizing')], max_length=10)),
                ('rate', models.CharField(choices=[('at_once', 'at once'), ('digest', 'digest'), ('app', 'app')], max_length=7)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='message_preferences', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'group'), name='message_preference_once')],
            },
        ),
        migrations.CreateModel(
            name='NearDuplicate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('distance', models.PositiveSmallIntegerField()),
                ('found_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField(null=True)),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='near_duplicates', to='labeling.image')),
                ('like', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.image')),
                ('seen_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('image', 'like'), name='near_duplicate_once')],
            },
        ),
        migrations.CreateModel(
            name='PictureHash',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('bits', models.BigIntegerField()),
                ('image', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='perceptual_hash', to='labeling.image')),
            ],
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('week', models.CharField(max_length=8)),
                ('part', models.PositiveSmallIntegerField(default=0)),
                ('manifest_sha256', models.CharField(max_length=64)),
                ('previous_sha256', models.CharField(blank=True, max_length=64)),
                ('counts', models.JSONField()),
                ('bytes', models.PositiveBigIntegerField()),
                ('released_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('week', 'part'), name='release_part_once')],
            },
        ),
        migrations.CreateModel(
            name='Announcement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('announced_at', models.DateTimeField()),
                ('release', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='announcement', to='contest.release')),
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
                ('incomplete', models.BooleanField(default=False)),
                ('started_at', models.DateTimeField(null=True)),
                ('seen_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('error', models.TextField(blank=True)),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='builds', to='contest.release')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['waiting', 'running'])), fields=('week',), name='release_build_one_at_a_time')],
            },
        ),
        migrations.CreateModel(
            name='SamePerson',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.CharField(choices=[('email', 'email'), ('address', 'address'), ('paper', 'paper')], max_length=8)),
                ('figures', models.JSONField(default=dict)),
                ('found_at', models.DateTimeField()),
                ('first', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('second', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('first', 'second', 'by'), name='same_person_once'), models.CheckConstraint(condition=models.Q(('first__lt', models.F('second'))), name='same_person_in_order')],
            },
        ),
        migrations.CreateModel(
            name='Award',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cents', models.PositiveBigIntegerField()),
                ('statement', models.TextField()),
                ('conditions', models.JSONField()),
                ('awarded_at', models.DateTimeField()),
                ('decision', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='awards', to='contest.boarddecision')),
                ('stake', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='award', to='contest.stake')),
            ],
        ),
        migrations.CreateModel(
            name='StakeChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('end', models.CharField(blank=True, choices=[('broken', 'broken'), ('won', 'won'), ('overtaken', 'overtaken'), ('withdrawn', 'withdrawn'), ('void', 'void')], max_length=9)),
                ('ended_at', models.DateTimeField(null=True)),
                ('known_at', models.DateTimeField()),
                ('stake', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='contest.stake')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('end', ''), ('ended_at__isnull', True)), models.Q(('ended_at__isnull', False), models.Q(('end', ''), _negated=True)), _connector='OR'), name='stake_change_ends_somehow')],
            },
        ),
        migrations.CreateModel(
            name='ReleaseLetter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('taken_at', models.DateTimeField(null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('not_before', models.DateTimeField(null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('error', models.CharField(blank=True, default='', max_length=300)),
                ('announcement', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='letters', to='contest.announcement')),
                ('subscriber', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='letters', to='contest.subscriber')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('taken_at__isnull', True)), fields=['id'], name='release_letter_due')],
                'constraints': [models.UniqueConstraint(fields=('announcement', 'subscriber'), name='release_letter_once')],
            },
        ),
        migrations.CreateModel(
            name='Statement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField()),
                ('sent_at', models.DateTimeField()),
                ('case', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='statements', to='contest.case')),
                ('sent_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('case', 'team'), name='statement_once'), models.CheckConstraint(condition=models.Q(('words', ''), _negated=True), name='statement_says_something')],
            },
        ),
        migrations.CreateModel(
            name='QuotaDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('used', models.PositiveSmallIntegerField(default=0)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='quota_days', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('team', 'day'), name='quota_day_once')],
            },
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
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('cancelled_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('entry', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payment', to='contest.ledgerentry')),
                ('paid_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='contest.team')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('cents__gt', 0)), name='payment_of_something'), models.CheckConstraint(condition=models.Q(('paid_by__isnull', True), ('asked_by__isnull', True), models.Q(('paid_by', models.F('asked_by')), _negated=True), _connector='OR'), name='payment_by_two'), models.UniqueConstraint(condition=models.Q(('cancelled_at__isnull', True), ('paid_at__isnull', True)), fields=('team',), name='payment_one_open')],
            },
        ),
        migrations.CreateModel(
            name='PastMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('joined_at', models.DateTimeField(null=True)),
                ('left_at', models.DateTimeField()),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='past_members', to='contest.team')),
            ],
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('taken_at', models.DateTimeField(null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('not_before', models.DateTimeField(null=True)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('error', models.CharField(blank=True, default='', max_length=300)),
                ('kind', models.CharField(choices=[('attack_received', 'attack received'), ('attack_withdrawn', 'attack withdrawn'), ('attack_verdicts', 'attack verdicts'), ('attack_broke', 'attack broke'), ('defense_published', 'defense published'), ('defense_staked', 'defense staked'), ('defense_broken', 'defense broken'), ('stake_changed', 'stake changed'), ('money_posted', 'money posted'), ('money_paid', 'money paid'), ('team_news', 'team news'), ('team_association', 'team association'), ('team_entitlement', 'team entitlement'), ('question_waiting', 'question waiting'), ('pictures_valid', 'pictures valid'), ('appeals_closing', 'appeals closing'), ('appeal_received', 'appeal received'), ('appeal_against', 'appeal against'), ('case_opened', 'case opened'), ('case_due', 'case due'), ('case_no_quorum', 'case no quorum'), ('case_decided', 'case decided'), ('ruling_changed', 'ruling changed'), ('organizer_entitlement', 'organizer entitlement'), ('release_failed', 'release failed'), ('letters_given_up', 'letters given up')], max_length=24)),
                ('key', models.CharField(blank=True, default='', max_length=80)),
                ('facts', models.JSONField()),
                ('about', models.CharField(blank=True, default='', max_length=200)),
                ('made_at', models.DateTimeField()),
                ('read_at', models.DateTimeField(null=True)),
                ('rate', models.CharField(choices=[('at_once', 'at once'), ('digest', 'digest'), ('app', 'app')], default='at_once', max_length=7)),
                ('digest', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='messages', to='contest.digest')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='contest.team')),
            ],
            options={
                'indexes': [models.Index(fields=['user', '-made_at'], name='message_of_person'), models.Index(condition=models.Q(('read_at__isnull', True)), fields=['user'], name='message_unread'), models.Index(condition=models.Q(('rate', 'at_once'), ('taken_at__isnull', True)), fields=['id'], name='message_due'), models.Index(condition=models.Q(('taken_at__isnull', True), ('tries__gt', 0)), fields=['id'], name='message_failing'), models.Index(condition=models.Q(('digest__isnull', True), ('rate', 'digest'), ('taken_at__isnull', True)), fields=['user'], name='message_for_digest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('user', 'kind', 'key'), name='message_told_once')],
            },
        ),
        migrations.CreateModel(
            name='Member',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('captain', models.BooleanField(default=False)),
                ('joined_at', models.DateTimeField(null=True)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='membership', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='members', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('captain', True)), fields=('team',), name='member_one_captain')],
            },
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
                ('defense', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='entry', to='scoring.defense')),
                ('handed_in_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('withdrawn_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='contest.team')),
            ],
        ),
        migrations.CreateModel(
            name='Disclosure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made_at', models.DateTimeField()),
                ('case', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='disclosures', to='contest.case')),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='disclosures', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('case', 'member', 'team'), name='disclosure_once')],
            },
        ),
        migrations.CreateModel(
            name='Correction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cents', models.PositiveBigIntegerField()),
                ('reason', models.TextField()),
                ('asked_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('cancelled_at', models.DateTimeField(null=True)),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('cancelled_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('confirmed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('corrects', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='asked_corrections', to='contest.ledgerentry')),
                ('entry', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='correction', to='contest.ledgerentry')),
                ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='repayments', to='contest.team')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('cents__gt', 0)), name='correction_of_something'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='correction_has_reason'), models.CheckConstraint(condition=models.Q(models.Q(('corrects__isnull', False), ('team__isnull', True)), models.Q(('corrects__isnull', True), ('team__isnull', False)), _connector='OR'), name='correction_of_entry_or_team'), models.CheckConstraint(condition=models.Q(('confirmed_by__isnull', True), ('asked_by__isnull', True), models.Q(('confirmed_by', models.F('asked_by')), _negated=True), _connector='OR'), name='correction_by_two'), models.UniqueConstraint(condition=models.Q(('cancelled_at__isnull', True), ('confirmed_at__isnull', True)), fields=('corrects',), name='correction_one_open'), models.UniqueConstraint(condition=models.Q(('cancelled_at__isnull', True), ('confirmed_at__isnull', True)), fields=('team',), name='repayment_one_open')],
            },
        ),
        migrations.CreateModel(
            name='Conflict',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('coauthor', 'coauthor'), ('institution', 'institution'), ('advisor', 'advisor'), ('member', 'member'), ('other', 'other')], max_length=11)),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField(null=True)),
                ('words', models.TextField(blank=True)),
                ('found', models.BooleanField(default=False)),
                ('declared_at', models.DateTimeField()),
                ('dismissed_at', models.DateTimeField(null=True)),
                ('dismissed_reason', models.TextField(blank=True)),
                ('declared_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dismissed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conflicts', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='conflicts', to='contest.team')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('until__isnull', True), ('until__gt', models.F('since')), _connector='OR'), name='conflict_ends_after'), models.CheckConstraint(condition=models.Q(('dismissed_at__isnull', True), models.Q(('dismissed_reason', ''), _negated=True), _connector='OR'), name='conflict_dismissed_with_reason'), models.UniqueConstraint(condition=models.Q(('found', True)), fields=('member', 'team', 'kind'), name='conflict_found_once')],
            },
        ),
        migrations.CreateModel(
            name='CaseParty',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('sender', 'sender'), ('defender', 'defender'), ('appellant', 'appellant'), ('concerned', 'concerned')], max_length=9)),
                ('added_at', models.DateTimeField()),
                ('case', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='parties', to='contest.case')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='case_parts', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('case', 'team'), name='case_party_once')],
            },
        ),
        migrations.CreateModel(
            name='Appeal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('L', 6), **{}), max_length=16, unique=True)),
                ('side', models.CharField(choices=[('defender', 'defender'), ('attacker', 'attacker')], max_length=8)),
                ('argument', models.TextField()),
                ('marks', models.JSONField(default=list)),
                ('sent_at', models.DateTimeField(db_index=True)),
                ('defense', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='scoring.defense')),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='labeling.image')),
                ('ruling', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='adjudication.ruling')),
                ('sent_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='contest.case')),
                ('team', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('team', 'image'), name='appeal_once_per_team_and_image'), models.CheckConstraint(condition=models.Q(('argument', ''), _negated=True), name='appeal_has_argument'), models.CheckConstraint(condition=models.Q(models.Q(('defense__isnull', False), ('side', 'defender')), models.Q(('defense__isnull', True), ('side', 'attacker')), _connector='OR'), name='appeal_of_defender_names_defense')],
            },
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
                ('invited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='invitations', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('accepted_at__isnull', True), ('withdrawn_at__isnull', True)), fields=('team', 'email'), name='team_invitation_once_per_address')],
            },
        ),
        migrations.CreateModel(
            name='TeamMerge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('merged_at', models.DateTimeField()),
                ('into', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='merges', to='contest.team')),
                ('merged_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='merge', to='contest.team')),
            ],
        ),
        migrations.CreateModel(
            name='Ties',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('domains', models.JSONField(default=list)),
                ('people', models.JSONField(default=list)),
                ('papers', models.JSONField(default=list)),
                ('told_at', models.DateTimeField()),
                ('member', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='ties', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Told',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('attack_received', 'attack received'), ('attack_withdrawn', 'attack withdrawn'), ('attack_verdicts', 'attack verdicts'), ('attack_broke', 'attack broke'), ('defense_published', 'defense published'), ('defense_staked', 'defense staked'), ('defense_broken', 'defense broken'), ('stake_changed', 'stake changed'), ('money_posted', 'money posted'), ('money_paid', 'money paid'), ('team_news', 'team news'), ('team_association', 'team association'), ('team_entitlement', 'team entitlement'), ('question_waiting', 'question waiting'), ('pictures_valid', 'pictures valid'), ('appeals_closing', 'appeals closing'), ('appeal_received', 'appeal received'), ('appeal_against', 'appeal against'), ('case_opened', 'case opened'), ('case_due', 'case due'), ('case_no_quorum', 'case no quorum'), ('case_decided', 'case decided'), ('ruling_changed', 'ruling changed'), ('organizer_entitlement', 'organizer entitlement'), ('release_failed', 'release failed'), ('letters_given_up', 'letters given up')], max_length=24)),
                ('fact', models.BigIntegerField()),
                ('told_at', models.DateTimeField()),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='contest.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('kind', 'fact', 'team'), name='fact_told_once')],
            },
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('choice', models.CharField(choices=[('uphold', 'uphold'), ('more_taskers', 'more taskers'), ('overrule', 'overrule'), ('in_favour', 'in favour'), ('against', 'against')], max_length=12)),
                ('label', models.CharField(blank=True, choices=[('bicycle', 'bicycle'), ('bird', 'bird')], max_length=8)),
                ('reasons', models.JSONField(default=list)),
                ('words', models.TextField(blank=True)),
                ('public', models.BooleanField(default=False)),
                ('cast_at', models.DateTimeField()),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='votes', to='contest.case')),
                ('member', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('choice', 'overrule'), models.Q(models.Q(('label', ''), _negated=True), models.Q(('reasons', []), _negated=True), _connector='OR')), models.Q(models.Q(('choice', 'overrule'), _negated=True), ('label', ''), ('reasons', [])), _connector='OR'), name='vote_overrules_with_outcome')],
            },
        ),
        migrations.AddField(
            model_name='attack',
            name='targets',
            field=models.ManyToManyField(related_name='attacks', through='contest.AttackTarget', to='scoring.defense'),
        ),
    ]
