"""The tables of this app."""

import functools
import uuid

import django.db.models.deletion
import django.db.models.expressions
from django.conf import settings
from django.db import migrations, models

import common.ids
import labeling.enums


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("labeling", "0001_initial"),
        ("labeling", "0002_append_only"),
        ("labeling", "0003_first_policy"),
        ("labeling", "0004_taskers"),
        ("labeling", "0005_first_rows"),
        ("labeling", "0006_person_known"),
        ("labeling", "0007_one_role"),
        ("labeling", "0008_policy_recorded"),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AccountRole',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='account_role', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('role', models.CharField(choices=[('tasker', 'tasker'), ('organizer', 'organizer'), ('board', 'board'), ('team', 'team')], max_length=9)),
            ],
        ),
        migrations.CreateModel(
            name='Tasker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('T', 5), **{}), max_length=16, unique=True)),
                ('state', models.CharField(choices=[('learning', 'learning'), ('qualified', 'qualified'), ('paused', 'paused')], default='learning', max_length=12)),
                ('shuffle_seed', models.BigIntegerField()),
                ('person', models.BigIntegerField(db_index=True, null=True)),
                ('instructions', models.PositiveSmallIntegerField(db_default=1, default=1)),
                ('tutorial_done_at', models.DateTimeField(null=True)),
                ('language', models.CharField(blank=True, db_default='', default='', max_length=8)),
                ('time_zone', models.CharField(blank=True, db_default='', default='', max_length=40)),
                ('preferences', models.JSONField(db_default={}, default=dict)),
                ('left_at', models.DateTimeField(null=True)),
                ('passed', models.JSONField(default=dict)),
                ('passed_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField()),
                ('user', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='QualificationAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(choices=[('full', 'full'), ('short', 'short')], max_length=5)),
                ('size', models.PositiveSmallIntegerField()),
                ('needed', models.PositiveSmallIntegerField()),
                ('instructions', models.PositiveSmallIntegerField()),
                ('started_at', models.DateTimeField()),
                ('finished_at', models.DateTimeField(null=True)),
                ('passed', models.BooleanField(null=True)),
                ('tasker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='labeling.tasker')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tasker', 'number'), name='attempt_number_once'), models.UniqueConstraint(condition=models.Q(('finished_at__isnull', True)), fields=('tasker',), name='attempt_one_at_a_time'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', True), ('passed__isnull', True)), models.Q(('finished_at__isnull', False), ('passed__isnull', False)), _connector='OR'), name='attempt_finished_is_decided')],
            },
        ),
        migrations.CreateModel(
            name='Image',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(common.ids.random_id, *('P', 8), **{}), max_length=16, unique=True)),
                ('pixels_sha256', models.CharField(max_length=64, unique=True)),
                ('original_sha256', models.CharField(db_index=True, max_length=64)),
                ('original_format', models.CharField(max_length=8)),
                ('width', models.PositiveIntegerField()),
                ('height', models.PositiveIntegerField()),
                ('origin', models.CharField(choices=[('attack', 'attack'), ('dataset', 'dataset'), ('gold', 'gold'), ('example', 'example')], max_length=8)),
                ('source', models.CharField(max_length=200)),
                ('source_id', models.CharField(blank=True, max_length=200)),
                ('licence', models.CharField(max_length=200)),
                ('author', models.CharField(blank=True, max_length=200)),
                ('received_at', models.DateTimeField(db_index=True)),
                ('label_from', models.DateTimeField(blank=True, null=True)),
                ('dealt_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('dealt_at__isnull', True), ('label_from__isnull', False)), fields=['label_from'], name='image_waiting_for_panel')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('source', ''), _negated=True), models.Q(('licence', ''), _negated=True)), name='image_has_provenance')],
            },
        ),
        migrations.CreateModel(
            name='InstructionVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveSmallIntegerField(unique=True)),
                ('summary', models.TextField()),
                ('clarification', models.TextField(blank=True)),
                ('requalify', models.BooleanField(default=False)),
                ('in_force_from', models.DateTimeField()),
                ('published_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('summary', ''), _negated=True), name='instructions_say_what_changed')],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(max_length=254)),
                ('role', models.CharField(choices=[('tasker', 'tasker'), ('organizer', 'organizer'), ('board', 'board'), ('team', 'team')], max_length=9)),
                ('language', models.CharField(blank=True, max_length=8)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('invited_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('invited_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='invitation', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('accepted_at__isnull', True), ('revoked_at__isnull', True)), fields=('email',), name='invitation_once_per_address')],
            },
        ),
        migrations.CreateModel(
            name='Panel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField(default=1)),
                ('size', models.PositiveSmallIntegerField()),
                ('answered', models.PositiveSmallIntegerField(default=0)),
                ('leased', models.PositiveSmallIntegerField(default=0)),
                ('missing', models.PositiveSmallIntegerField()),
                ('state', models.CharField(choices=[('open', 'open'), ('held', 'held'), ('full', 'full'), ('settled', 'settled')], default='open', max_length=8)),
                ('dealt_at', models.DateTimeField()),
                ('waiting_since', models.DateTimeField()),
                ('full_at', models.DateTimeField(null=True)),
                ('urgent', models.BooleanField(db_default=False, default=False)),
                ('joined', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('joined_at', models.DateTimeField(null=True)),
                ('ruled_through', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('image', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='panels', to='labeling.image')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', labeling.enums.PanelState['OPEN'])), fields=['missing', 'waiting_since', 'id'], name='panel_queue'), models.Index(condition=models.Q(('state', labeling.enums.PanelState['OPEN']), ('urgent', True)), fields=['waiting_since', 'id'], name='panel_urgent'), models.Index(condition=models.Q(('state', labeling.enums.PanelState['FULL'])), fields=['full_at'], name='panel_full')],
                'constraints': [models.UniqueConstraint(fields=('image', 'number'), name='panel_number_once'), models.CheckConstraint(condition=models.Q(models.Q(('joined', 0), ('joined_at__isnull', True), ('ruled_through', 0)), models.Q(('joined__gt', 0), ('joined_at__isnull', False), ('ruled_through__gte', 3)), _connector='OR'), name='panel_joined_at_a_time'), models.CheckConstraint(condition=models.Q(('size__gte', django.db.models.expressions.CombinedExpression(models.F('joined'), '+', models.Value(3)))), name='panel_of_three_or_more'), models.CheckConstraint(condition=models.Q(('missing', django.db.models.expressions.CombinedExpression(models.F('size'), '-', models.F('answered')))), name='panel_missing_adds_up'), models.CheckConstraint(condition=models.Q(('answered__lte', django.db.models.expressions.CombinedExpression(models.F('size'), '-', models.F('leased')))), name='panel_never_over_size'), models.CheckConstraint(condition=models.Q(models.Q(('missing__gt', 0), ('state__in', (labeling.enums.PanelState['OPEN'], labeling.enums.PanelState['HELD']))), models.Q(models.Q(('state__in', (labeling.enums.PanelState['OPEN'], labeling.enums.PanelState['HELD'])), _negated=True), ('missing', 0)), _connector='OR'), name='panel_waits_exactly_while_missing')],
            },
        ),
        migrations.CreateModel(
            name='KnownPicture',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, unique=True)),
                ('use', models.CharField(choices=[('tutorial', 'tutorial'), ('qualification', 'qualification'), ('gold', 'gold')], max_length=13)),
                ('topic', models.CharField(choices=[('clear', 'clear'), ('uncertain', 'uncertain'), ('both_classes', 'both classes'), ('neither_class', 'neither class'), ('several', 'several'), ('too_small', 'too small'), ('truncated', 'truncated'), ('occluded', 'occluded'), ('painting', 'painting'), ('toy', 'toy')], max_length=13)),
                ('position', models.PositiveSmallIntegerField(default=0)),
                ('accepts_bird', models.JSONField()),
                ('accepts_bicycle', models.JSONField()),
                ('outline', models.TextField(blank=True)),
                ('min_iou_percent', models.PositiveSmallIntegerField(default=70)),
                ('complete', models.BooleanField(null=True)),
                ('unoccluded', models.BooleanField(null=True)),
                ('real', models.BooleanField(null=True)),
                ('reasons', models.JSONField(default=dict)),
                ('uses', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('retired_at', models.DateTimeField(null=True)),
                ('retired_because', models.TextField(blank=True)),
                ('held_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('image', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='known', to='labeling.image')),
                ('panel', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.panel')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('held_at__isnull', True), ('retired_at__isnull', True)), fields=['use', 'uses'], name='known_usable')],
                'constraints': [models.CheckConstraint(condition=models.Q(('min_iou_percent__lte', 100)), name='known_iou_is_a_share'), models.CheckConstraint(condition=models.Q(models.Q(('panel__isnull', False), ('use', labeling.enums.KnownUse['GOLD'])), models.Q(models.Q(('use', labeling.enums.KnownUse['GOLD']), _negated=True), ('panel__isnull', True)), _connector='OR'), name='known_panel_exactly_for_gold'), models.CheckConstraint(condition=models.Q(('retired_at__isnull', True), models.Q(('retired_because', ''), _negated=True), _connector='OR'), name='known_retired_with_reason')],
            },
        ),
        migrations.CreateModel(
            name='GoldFlag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('figures', models.JSONField()),
                ('flagged_at', models.DateTimeField()),
                ('known', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='flags', to='labeling.knownpicture')),
            ],
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, unique=True)),
                ('person', models.BigIntegerField()),
                ('instructions', models.PositiveSmallIntegerField(db_default=1, default=1)),
                ('lease_token', models.CharField(max_length=32)),
                ('state', models.CharField(choices=[('leased', 'leased'), ('answered', 'answered'), ('released', 'released'), ('expired', 'expired')], default='leased', max_length=8)),
                ('slot', models.PositiveSmallIntegerField()),
                ('tie_break', models.CharField(choices=[('leftmost', 'leftmost'), ('rightmost', 'rightmost')], max_length=9)),
                ('leased_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('problem', models.TextField(blank=True)),
                ('image', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.image')),
                ('known', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='labeling.knownpicture')),
                ('panel', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='labeling.panel')),
                ('tasker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='labeling.tasker')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('known__isnull', False)), fields=['known'], name='assignment_of_gold'), models.Index(condition=models.Q(('state', labeling.enums.AssignmentState['LEASED'])), fields=['expires_at'], name='assignment_lease'), models.Index(condition=models.Q(('problem', ''), ('state__in', [labeling.enums.AssignmentState['EXPIRED'], labeling.enums.AssignmentState['RELEASED']])), fields=['tasker'], name='assignment_lapsed'), models.Index(condition=models.Q(('problem', ''), _negated=True), fields=['ended_at'], name='assignment_problem')],
                'constraints': [models.UniqueConstraint(fields=('tasker', 'image'), name='assignment_once_per_tasker_and_image'), models.UniqueConstraint(condition=models.Q(('state', labeling.enums.AssignmentState['LEASED'])), fields=('tasker', 'slot'), name='assignment_slot_once'), models.CheckConstraint(condition=models.Q(('slot__gte', 1), ('slot__lte', 3)), name='assignment_slot_range'), models.UniqueConstraint(condition=models.Q(('known__isnull', True)), fields=('image', 'person'), name='assignment_once_per_person_and_image')],
            },
        ),
        migrations.CreateModel(
            name='Place',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('panel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='places', to='labeling.panel')),
                ('replaces', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replaced_by', to='labeling.place')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('panel', 'number'), name='place_number_once'), models.CheckConstraint(condition=models.Q(('number__lte', 9), ('replaces__isnull', False), _connector='OR'), name='place_beyond_size_replaces')],
            },
        ),
        migrations.CreateModel(
            name='PolicyVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(unique=True)),
                ('numbers', models.JSONField()),
                ('in_force_from', models.DateTimeField()),
                ('reason', models.TextField()),
                ('recorded_at', models.DateTimeField(null=True)),
                ('recorded_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Response',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('contains_bird', models.CharField(choices=[('definitely_yes', 'definitely yes'), ('unsure_yes', 'unsure yes'), ('unsure_no', 'unsure no'), ('definitely_no', 'definitely no')], max_length=16)),
                ('contains_bicycle', models.CharField(choices=[('definitely_yes', 'definitely yes'), ('unsure_yes', 'unsure yes'), ('unsure_no', 'unsure no'), ('definitely_no', 'definitely no')], max_length=16)),
                ('outline', models.TextField(blank=True)),
                ('box_xmin', models.IntegerField(null=True)),
                ('box_ymin', models.IntegerField(null=True)),
                ('box_xmax', models.IntegerField(null=True)),
                ('box_ymax', models.IntegerField(null=True)),
                ('complete', models.BooleanField(null=True)),
                ('unoccluded', models.BooleanField(null=True)),
                ('real', models.BooleanField(null=True)),
                ('milliseconds', models.PositiveIntegerField()),
                ('instructions', models.PositiveSmallIntegerField(db_default=1, default=1)),
                ('submitted_at', models.DateTimeField(db_index=True)),
                ('answers_sha256', models.CharField(max_length=64)),
                ('receipt', models.CharField(max_length=16)),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, to='labeling.assignment')),
                ('image', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='responses', to='labeling.image')),
                ('panel', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='responses', to='labeling.panel')),
                ('place', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, to='labeling.place')),
                ('tasker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='responses', to='labeling.tasker')),
            ],
            options={
                'indexes': [models.Index(fields=['tasker', 'submitted_at'], name='response_of_tasker')],
                'constraints': [models.UniqueConstraint(fields=('image', 'tasker'), name='response_once_per_tasker_and_image'), models.CheckConstraint(condition=models.Q(models.Q(('box_xmin__isnull', True), ('outline', '')), models.Q(models.Q(('outline', ''), _negated=True), ('box_xmax__gt', models.F('box_xmin')), ('box_ymax__gt', models.F('box_ymin'))), _connector='OR'), name='response_box_goes_with_outline')],
            },
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('does_not_load', 'does not load'), ('offensive', 'offensive'), ('unclear', 'unclear'), ('other', 'other')], max_length=13)),
                ('words', models.TextField(blank=True)),
                ('reported_at', models.DateTimeField()),
                ('decision', models.CharField(blank=True, choices=[('reopened', 'reopened'), ('kept_out', 'kept out')], max_length=8)),
                ('decided_at', models.DateTimeField(null=True)),
                ('reply', models.TextField(blank=True)),
                ('assignment', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='report', to='labeling.assignment')),
                ('decided_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='labeling.image')),
                ('tasker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='labeling.tasker')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('decided_at__isnull', True)), fields=['reported_at'], name='report_open')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('decided_at__isnull', True), ('decision', '')), models.Q(('decided_at__isnull', False), models.Q(('decision', ''), _negated=True)), _connector='OR'), name='report_decided_with_decision')],
            },
        ),
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('asked_at', models.DateTimeField()),
                ('answer', models.TextField(blank=True)),
                ('answered_at', models.DateTimeField(null=True)),
                ('answered_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('instructions', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='labeling.instructionversion')),
                ('tasker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='labeling.tasker')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('answered_at__isnull', True)), fields=['asked_at'], name='question_open')],
                'constraints': [models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='question_asks'), models.CheckConstraint(condition=models.Q(models.Q(('answer', ''), ('answered_at__isnull', True)), models.Q(('answered_at__isnull', False), models.Q(('answer', ''), _negated=True)), _connector='OR'), name='question_answered_with_answer')],
            },
        ),
        migrations.CreateModel(
            name='QualificationItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, unique=True)),
                ('position', models.PositiveSmallIntegerField()),
                ('tie_break', models.CharField(choices=[('leftmost', 'leftmost'), ('rightmost', 'rightmost')], max_length=9)),
                ('answers', models.JSONField(null=True)),
                ('marks', models.JSONField(null=True)),
                ('right', models.BooleanField(null=True)),
                ('milliseconds', models.PositiveIntegerField(default=0)),
                ('answered_at', models.DateTimeField(null=True)),
                ('attempt', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='labeling.qualificationattempt')),
                ('known', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='labeling.knownpicture')),
                ('tasker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.tasker')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('attempt', 'position'), name='item_position_once'), models.UniqueConstraint(fields=('tasker', 'known'), name='item_fresh_for_tasker')],
            },
        ),
        migrations.CreateModel(
            name='LessonSeen',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seen_at', models.DateTimeField()),
                ('known', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.knownpicture')),
                ('tasker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='lessons_seen', to='labeling.tasker')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tasker', 'known'), name='lesson_seen_once')],
            },
        ),
        migrations.CreateModel(
            name='GoldMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('right', models.BooleanField()),
                ('marks', models.JSONField()),
                ('iou_percent', models.FloatField(null=True)),
                ('marked_at', models.DateTimeField()),
                ('known', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gold_marks', to='labeling.knownpicture')),
                ('response', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='gold_mark', to='labeling.response')),
                ('tasker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='gold_marks', to='labeling.tasker')),
            ],
            options={
                'indexes': [models.Index(fields=['tasker', 'marked_at'], name='gold_mark_of_tasker')],
            },
        ),
        migrations.CreateModel(
            name='TaskerLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('suspected', 'suspected'), ('declared', 'declared')], max_length=9)),
                ('reason', models.TextField()),
                ('figures', models.JSONField(default=dict)),
                ('linked_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('ended_because', models.TextField(blank=True)),
                ('ended_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('first', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='links_as_first', to='labeling.tasker')),
                ('linked_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('second', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='links_as_second', to='labeling.tasker')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('first__lt', models.F('second'))), name='link_in_one_direction'), models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('first', 'second'), name='link_once_at_a_time'), models.CheckConstraint(condition=models.Q(('ended_at__isnull', True), models.Q(('ended_because', ''), _negated=True), _connector='OR'), name='link_ended_with_reason')],
            },
        ),
        migrations.CreateModel(
            name='Voiding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('since', models.DateTimeField(null=True)),
                ('voided_at', models.DateTimeField()),
                ('tasker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='voidings', to='labeling.tasker')),
                ('voided_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='voiding_has_reason')],
            },
        ),
        migrations.CreateModel(
            name='VoidedResponse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('response', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='voided', to='labeling.response')),
                ('voiding', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='responses', to='labeling.voiding')),
            ],
        ),
        migrations.CreateModel(
            name='WatchRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('collector', models.CharField(max_length=40)),
                ('window', models.PositiveIntegerField()),
                ('minimum', models.PositiveIntegerField()),
                ('comparison', models.CharField(max_length=2)),
                ('threshold', models.FloatField()),
                ('action', models.CharField(choices=[('warn', 'warn'), ('pause', 'pause'), ('requalify', 'requalify')], max_length=9)),
                ('words', models.TextField()),
                ('created_at', models.DateTimeField()),
                ('retired_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('comparison__in', ['<', '<=', '>', '>='])), name='rule_compares')],
            },
        ),
        migrations.CreateModel(
            name='WatchEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.CharField(choices=[('warn', 'warn'), ('pause', 'pause'), ('requalify', 'requalify')], max_length=9)),
                ('figures', models.JSONField()),
                ('fired_at', models.DateTimeField(db_index=True)),
                ('tasker', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='watch_events', to='labeling.tasker')),
                ('rule', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='labeling.watchrule')),
            ],
            options={
                'indexes': [models.Index(fields=['rule', 'tasker', 'fired_at'], name='watch_event_latest')],
            },
        ),
        migrations.CreateModel(
            name='StateChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('before', models.CharField(choices=[('learning', 'learning'), ('qualified', 'qualified'), ('paused', 'paused')], max_length=12)),
                ('after', models.CharField(choices=[('learning', 'learning'), ('qualified', 'qualified'), ('paused', 'paused')], max_length=12)),
                ('code', models.CharField(max_length=30)),
                ('reason', models.TextField()),
                ('changed_at', models.DateTimeField()),
                ('by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tasker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='state_changes', to='labeling.tasker')),
                ('event', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.watchevent')),
            ],
            options={
                'indexes': [models.Index(fields=['tasker', 'changed_at'], name='state_change_of_tasker')],
                'constraints': [models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='state_change_has_reason')],
            },
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, unique=True)),
                ('code', models.CharField(max_length=30)),
                ('text', models.TextField()),
                ('told_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField(null=True)),
                ('tasker', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='notices', to='labeling.tasker')),
                ('event', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.watchevent')),
            ],
            options={
                'indexes': [models.Index(fields=['tasker', 'told_at'], name='notice_of_tasker')],
            },
        ),
    ]
