"""The tables of this app."""

import functools

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import common.ids
import scoring.enums


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("scoring", "0001_initial"),
        ("scoring", "0002_append_only"),
        ("scoring", "0003_sealed"),
        ("scoring", "0004_queue_order"),
        ("scoring", "0005_rerun_prepared"),
        ("scoring", "0006_question_index"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('labeling', '0001_tables'),
    ]

    operations = [
        migrations.CreateModel(
            name='Scorer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80, unique=True)),
                ('device', models.CharField(max_length=120)),
                ('runtime', models.CharField(max_length=20)),
                ('held', models.CharField(blank=True, max_length=120)),
                ('started_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Defense',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('D', 5), **{}), max_length=16, unique=True)),
                ('name', models.CharField(max_length=80)),
                ('reference', models.CharField(blank=True, max_length=40)),
                ('image', models.CharField(blank=True, max_length=200)),
                ('archive', models.CharField(blank=True, max_length=64)),
                ('digest', models.CharField(max_length=80)),
                ('layers', models.JSONField(blank=True, default=list)),
                ('weights', models.CharField(blank=True, max_length=64)),
                ('source', models.CharField(blank=True, max_length=64)),
                ('description', models.TextField(blank=True)),
                ('demo', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField()),
                ('published_at', models.DateTimeField(blank=True, null=True)),
                ('retired_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('name', 'digest'), name='defense_version_once'), models.UniqueConstraint(condition=models.Q(('published_at__isnull', False), ('retired_at__isnull', True)), fields=('name',), name='defense_one_version_in_force'), models.CheckConstraint(condition=models.Q(('reference', ''), ('image', ''), _connector='OR'), name='defense_one_way_to_run')],
            },
        ),
        migrations.CreateModel(
            name='FrameworkCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('passed', models.BooleanField()),
                ('reason', models.TextField()),
                ('checked_at', models.DateTimeField()),
                ('checked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='framework_checks', to='scoring.defense')),
            ],
        ),
        migrations.CreateModel(
            name='PlanMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rounds', models.PositiveSmallIntegerField(default=0)),
                ('through_ruling', models.BigIntegerField(default=0)),
                ('seen_ruling', models.BigIntegerField(default=0)),
                ('seen_at', models.DateTimeField()),
                ('defense', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='plan_mark', to='scoring.defense')),
            ],
        ),
        migrations.CreateModel(
            name='PrivateSet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField(unique=True)),
                ('note', models.TextField()),
                ('imported_at', models.DateTimeField()),
                ('completed_at', models.DateTimeField(null=True)),
                ('imported_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Rerun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('scope', models.JSONField(default=dict)),
                ('kinds', models.JSONField(default=list)),
                ('state', models.CharField(choices=[('preparing', 'preparing'), ('running', 'running'), ('applied', 'applied'), ('cancelled', 'cancelled')], default='running', max_length=9)),
                ('asked_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reruns', to='scoring.defense')),
                ('ended_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['preparing', 'running'])), fields=('defense',), name='rerun_one_at_a_time')],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('finished', 'finished'), ('assessed', 'assessed'), ('dead', 'dead')], default='queued', max_length=8)),
                ('attempt', models.PositiveSmallIntegerField(default=0)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('worker', models.CharField(blank=True, max_length=80)),
                ('lease_until', models.DateTimeField(null=True)),
                ('not_before', models.DateTimeField(null=True)),
                ('fault', models.CharField(blank=True, choices=[('image_pull', 'image pull'), ('start_timeout', 'start timeout'), ('hello_timeout', 'hello timeout'), ('batch_timeout', 'batch timeout'), ('crashed', 'crashed'), ('out_of_memory', 'out of memory'), ('gpu_out_of_memory', 'gpu out of memory'), ('protocol', 'protocol'), ('nonfinite', 'nonfinite'), ('disk', 'disk'), ('cancelled', 'cancelled'), ('platform', 'platform')], max_length=20)),
                ('fault_text', models.TextField(blank=True)),
                ('device', models.CharField(blank=True, max_length=120)),
                ('created_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('round', models.PositiveSmallIntegerField()),
                ('seed', models.BigIntegerField()),
                ('batch_size', models.PositiveSmallIntegerField()),
                ('fresh', models.BooleanField(default=False)),
                ('splits', models.PositiveSmallIntegerField(default=0)),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='scoring.defense')),
                ('rerun', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='scoring.rerun')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', scoring.enums.RunState['QUEUED'])), fields=['defense', 'id'], name='run_queue'), models.Index(condition=models.Q(('state', scoring.enums.RunState['QUEUED'])), fields=['id'], name='run_turn'), models.Index(condition=models.Q(('state', scoring.enums.RunState['RUNNING'])), fields=['lease_until'], name='run_lease'), models.Index(condition=models.Q(('state', scoring.enums.RunState['FINISHED'])), fields=['finished_at'], name='run_finished')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('state', scoring.enums.RunState['RUNNING']), _negated=True), ('lease_until__isnull', False), _connector='OR'), name='run_lease_while_running')],
            },
        ),
        migrations.CreateModel(
            name='RunItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('round', models.PositiveSmallIntegerField()),
                ('position', models.PositiveIntegerField()),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='scoring.defense')),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='run_items', to='labeling.image')),
                ('rerun', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='scoring.rerun')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='scoring.run')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('rerun__isnull', True)), fields=('defense', 'image', 'round'), name='run_item_once'), models.UniqueConstraint(condition=models.Q(('rerun__isnull', False)), fields=('rerun', 'defense', 'image', 'round'), name='run_item_rerun_once'), models.UniqueConstraint(fields=('run', 'position'), name='run_item_position_once')],
            },
        ),
        migrations.CreateModel(
            name='Prediction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('round', models.PositiveSmallIntegerField()),
                ('answer', models.SmallIntegerField(choices=[(-1, 'abstain'), (0, 'bicycle'), (1, 'bird')])),
                ('score_bicycle', models.FloatField()),
                ('score_bird', models.FloatField()),
                ('pixels_sha256', models.CharField(max_length=64)),
                ('defense_digest', models.CharField(max_length=80)),
                ('device', models.CharField(max_length=120)),
                ('batch_size', models.PositiveSmallIntegerField()),
                ('batch', models.PositiveIntegerField()),
                ('row', models.PositiveSmallIntegerField()),
                ('seed', models.BigIntegerField()),
                ('attempt', models.PositiveSmallIntegerField()),
                ('latency_us', models.PositiveIntegerField()),
                ('predicted_at', models.DateTimeField()),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='predictions', to='scoring.defense')),
                ('image', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='predictions', to='labeling.image')),
                ('rerun', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='predictions', to='scoring.rerun')),
                ('item', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, to='scoring.runitem')),
            ],
            options={
                'indexes': [models.Index(fields=['image', 'defense', 'round'], name='prediction_of_question')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('rerun__isnull', True)), fields=('defense', 'image', 'round'), name='prediction_once'), models.UniqueConstraint(condition=models.Q(('rerun__isnull', False)), fields=('rerun', 'defense', 'image', 'round'), name='prediction_rerun_once')],
            },
        ),
        migrations.CreateModel(
            name='Superseded',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='supersedes', to='scoring.prediction')),
                ('prediction', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='superseded', to='scoring.prediction')),
                ('rerun', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='superseded', to='scoring.rerun')),
            ],
        ),
        migrations.CreateModel(
            name='Trial',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('finished', 'finished'), ('assessed', 'assessed'), ('dead', 'dead')], default='queued', max_length=8)),
                ('attempt', models.PositiveSmallIntegerField(default=0)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('worker', models.CharField(blank=True, max_length=80)),
                ('lease_until', models.DateTimeField(null=True)),
                ('not_before', models.DateTimeField(null=True)),
                ('fault', models.CharField(blank=True, choices=[('image_pull', 'image pull'), ('start_timeout', 'start timeout'), ('hello_timeout', 'hello timeout'), ('batch_timeout', 'batch timeout'), ('crashed', 'crashed'), ('out_of_memory', 'out of memory'), ('gpu_out_of_memory', 'gpu out of memory'), ('protocol', 'protocol'), ('nonfinite', 'nonfinite'), ('disk', 'disk'), ('cancelled', 'cancelled'), ('platform', 'platform')], max_length=20)),
                ('fault_text', models.TextField(blank=True)),
                ('device', models.CharField(blank=True, max_length=120)),
                ('created_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('kind', models.CharField(choices=[('smoke', 'smoke'), ('private', 'private'), ('earlier', 'earlier'), ('probe', 'probe')], max_length=8)),
                ('number', models.PositiveSmallIntegerField()),
                ('seed', models.BigIntegerField()),
                ('batch_size', models.PositiveSmallIntegerField()),
                ('totals', models.JSONField(blank=True, default=dict)),
                ('log', models.TextField(blank=True)),
                ('answers', models.BinaryField(default=bytes)),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='trials', to='scoring.defense')),
                ('private_set', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='scoring.privateset')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'queued')), fields=['id'], name='trial_queue')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('state', scoring.enums.RunState['RUNNING']), _negated=True), ('lease_until__isnull', False), _connector='OR'), name='trial_lease_while_running'), models.UniqueConstraint(fields=('defense', 'kind', 'number'), name='trial_number_once'), models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running'])), fields=('defense', 'kind'), name='trial_one_at_a_time'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'private'), ('private_set__isnull', False)), models.Q(models.Q(('kind', 'private'), _negated=True), ('private_set__isnull', True)), _connector='OR'), name='trial_private_set')],
            },
        ),
        migrations.CreateModel(
            name='CopyFlag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('likeness', models.CharField(choices=[('layers', 'layers'), ('weights', 'weights'), ('outputs', 'outputs')], max_length=8)),
                ('figures', models.JSONField()),
                ('found_at', models.DateTimeField()),
                ('defense', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='copy_flags', to='scoring.defense')),
                ('original', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='scoring.defense')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('defense', 'original', 'likeness'), name='copy_flag_once'), models.CheckConstraint(condition=models.Q(('defense', models.F('original')), _negated=True), name='copy_flag_of_another')],
            },
        ),
        migrations.CreateModel(
            name='PrivatePicture',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pixels_sha256', models.CharField(max_length=64)),
                ('label', models.CharField(choices=[('bicycle', 'bicycle'), ('bird', 'bird')], max_length=7)),
                ('source', models.CharField(max_length=200)),
                ('private_set', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='pictures', to='scoring.privateset')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('private_set', 'pixels_sha256'), name='private_picture_once'), models.CheckConstraint(condition=models.Q(('label__in', ['bicycle', 'bird'])), name='private_picture_label')],
            },
        ),
    ]
