import functools

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import common.ids
from common.append_only import append_only, append_only_again


class Migration(migrations.Migration):
    """The review board: conflicts, cases, appeals, votes and what was decided (R18-R21)."""

    dependencies = [
        ('adjudication', '0002_append_only'),
        ('contest', '0014_leaderboards_anew'),
        ('labeling', '0007_one_role'),
        ('scoring', '0007_fewer_indexes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Appeal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('L', 6), **{}), max_length=16, unique=True)),
                ('side', models.CharField(choices=[('defender', 'defender'), ('attacker', 'attacker')], max_length=8)),
                ('argument', models.TextField()),
                ('marks', models.JSONField(default=list)),
                ('sent_at', models.DateTimeField(db_index=True)),
            ],
        ),
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
            ],
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
            ],
        ),
        migrations.CreateModel(
            name='CaseParty',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('sender', 'sender'), ('defender', 'defender'), ('appellant', 'appellant'), ('concerned', 'concerned')], max_length=9)),
                ('added_at', models.DateTimeField()),
            ],
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
            ],
        ),
        migrations.CreateModel(
            name='Disclosure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Statement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField()),
                ('sent_at', models.DateTimeField()),
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
            ],
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
            ],
        ),
        migrations.RemoveConstraint(
            model_name='examination',
            name='examination_once',
        ),
        migrations.AddField(
            model_name='examination',
            name='ruling',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='examinations', to='adjudication.ruling'),
        ),
        migrations.AddConstraint(
            model_name='examination',
            constraint=models.UniqueConstraint(fields=('image', 'defense', 'ruling', 'confirmed_by'), name='examination_once_per_member'),
        ),
        migrations.AddField(
            model_name='appeal',
            name='defense',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='scoring.defense'),
        ),
        migrations.AddField(
            model_name='appeal',
            name='image',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='labeling.image'),
        ),
        migrations.AddField(
            model_name='appeal',
            name='ruling',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='adjudication.ruling'),
        ),
        migrations.AddField(
            model_name='appeal',
            name='sent_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='appeal',
            name='team',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='contest.team'),
        ),
        migrations.AddField(
            model_name='case',
            name='image',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='cases', to='labeling.image'),
        ),
        migrations.AddField(
            model_name='case',
            name='opened_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='case',
            name='policy',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policyversion'),
        ),
        migrations.AddField(
            model_name='case',
            name='result',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='adjudication.ruling'),
        ),
        migrations.AddField(
            model_name='case',
            name='ruling',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='cases', to='adjudication.ruling'),
        ),
        migrations.AddField(
            model_name='appeal',
            name='case',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='appeals', to='contest.case'),
        ),
        migrations.AddField(
            model_name='boarddecision',
            name='case',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='made', to='contest.case'),
        ),
        migrations.AddField(
            model_name='casedecision',
            name='case',
            field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='decision', to='contest.case'),
        ),
        migrations.AddField(
            model_name='casedecision',
            name='confirmed_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='casedecision',
            name='panel',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.panel'),
        ),
        migrations.AddField(
            model_name='casedecision',
            name='policy',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policyversion'),
        ),
        migrations.AddField(
            model_name='casedecision',
            name='ruling',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='made_by', to='adjudication.ruling'),
        ),
        migrations.AddField(
            model_name='caseparty',
            name='case',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='parties', to='contest.case'),
        ),
        migrations.AddField(
            model_name='caseparty',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='case_parts', to='contest.team'),
        ),
        migrations.AddField(
            model_name='conflict',
            name='declared_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='conflict',
            name='dismissed_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='conflict',
            name='member',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conflicts', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='conflict',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='conflicts', to='contest.team'),
        ),
        migrations.AddField(
            model_name='disclosure',
            name='case',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='disclosures', to='contest.case'),
        ),
        migrations.AddField(
            model_name='disclosure',
            name='member',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='disclosures', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='disclosure',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='contest.team'),
        ),
        migrations.AddField(
            model_name='statement',
            name='case',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='statements', to='contest.case'),
        ),
        migrations.AddField(
            model_name='statement',
            name='sent_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='statement',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='contest.team'),
        ),
        migrations.AddField(
            model_name='ties',
            name='member',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='ties', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='vote',
            name='case',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='votes', to='contest.case'),
        ),
        migrations.AddField(
            model_name='vote',
            name='member',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='case',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['due_at'], name='case_undecided'),
        ),
        migrations.AddConstraint(
            model_name='case',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'closed'), _negated=True), fields=('image',), name='case_one_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='case',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('image__isnull', False), ('kind', 'picture'), ('motion', ''), ('ruling__isnull', False)), models.Q(('image__isnull', True), ('kind', 'motion'), ('ruling__isnull', True), models.Q(('motion', ''), _negated=True)), _connector='OR'), name='case_of_picture_or_motion'),
        ),
        migrations.AddConstraint(
            model_name='case',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', False), ('state', 'closed')), models.Q(models.Q(('state', 'closed'), _negated=True), ('closed_at__isnull', True)), _connector='OR'), name='case_closed_at_some_time'),
        ),
        migrations.AddConstraint(
            model_name='appeal',
            constraint=models.UniqueConstraint(fields=('team', 'image'), name='appeal_once_per_team_and_image'),
        ),
        migrations.AddConstraint(
            model_name='appeal',
            constraint=models.CheckConstraint(condition=models.Q(('argument', ''), _negated=True), name='appeal_has_argument'),
        ),
        migrations.AddConstraint(
            model_name='appeal',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('defense__isnull', False), ('side', 'defender')), models.Q(('defense__isnull', True), ('side', 'attacker')), _connector='OR'), name='appeal_of_defender_names_defense'),
        ),
        migrations.AddConstraint(
            model_name='casedecision',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('outcome', 'overrule'), ('ruling__isnull', False), models.Q(('explanation', ''), _negated=True)), models.Q(models.Q(('outcome', 'overrule'), _negated=True), ('ruling__isnull', True)), _connector='OR'), name='case_decision_overrules_by_ruling'),
        ),
        migrations.AddConstraint(
            model_name='casedecision',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('outcome', 'more_taskers'), ('panel__isnull', False)), models.Q(models.Q(('outcome', 'more_taskers'), _negated=True), ('panel__isnull', True)), _connector='OR'), name='case_decision_asks_a_panel'),
        ),
        migrations.AddConstraint(
            model_name='caseparty',
            constraint=models.UniqueConstraint(fields=('case', 'team'), name='case_party_once'),
        ),
        migrations.AddConstraint(
            model_name='conflict',
            constraint=models.CheckConstraint(condition=models.Q(('until__isnull', True), ('until__gt', models.F('since')), _connector='OR'), name='conflict_ends_after'),
        ),
        migrations.AddConstraint(
            model_name='conflict',
            constraint=models.CheckConstraint(condition=models.Q(('dismissed_at__isnull', True), models.Q(('dismissed_reason', ''), _negated=True), _connector='OR'), name='conflict_dismissed_with_reason'),
        ),
        migrations.AddConstraint(
            model_name='conflict',
            constraint=models.UniqueConstraint(condition=models.Q(('found', True)), fields=('member', 'team', 'kind'), name='conflict_found_once'),
        ),
        migrations.AddConstraint(
            model_name='disclosure',
            constraint=models.UniqueConstraint(fields=('case', 'member', 'team'), name='disclosure_once'),
        ),
        migrations.AddConstraint(
            model_name='statement',
            constraint=models.UniqueConstraint(fields=('case', 'team'), name='statement_once'),
        ),
        migrations.AddConstraint(
            model_name='statement',
            constraint=models.CheckConstraint(condition=models.Q(('words', ''), _negated=True), name='statement_says_something'),
        ),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('choice', 'overrule'), models.Q(models.Q(('label', ''), _negated=True), models.Q(('reasons', []), _negated=True), _connector='OR')), models.Q(models.Q(('choice', 'overrule'), _negated=True), ('label', ''), ('reasons', [])), _connector='OR'), name='vote_overrules_with_outcome'),
        ),
        append_only(["contest_appeal", "contest_statement", "contest_vote", "contest_casedecision"]),
        append_only_again(["contest_examination", "contest_boarddecision"]),
    ]
