"""The tables of this app."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("common", "0001_initial"),
        ("common", "0002_token_of_a_password"),
        ("common", "0003_second_factor"),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('checked_at', models.DateTimeField(db_index=True)),
                ('through', models.BigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('by_hash_alone', models.BigIntegerField()),
                ('wrong', models.TextField(blank=True)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_index=True)),
                ('role', models.CharField(blank=True, max_length=9)),
                ('action', models.CharField(db_index=True, max_length=41)),
                ('subject', models.JSONField(default=dict)),
                ('why', models.TextField(blank=True)),
                ('origin', models.CharField(max_length=60)),
                ('published', models.BooleanField()),
                ('public', models.JSONField(default=dict)),
                ('private', models.JSONField(default=dict)),
                ('salt', models.CharField(blank=True, max_length=32)),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='second_factor', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('secret', models.CharField(max_length=255)),
                ('last_step', models.BigIntegerField()),
                ('wrong', models.PositiveSmallIntegerField(default=0)),
                ('wrong_at', models.DateTimeField(null=True)),
                ('turned_on_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('auth_hash', models.CharField(max_length=128)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='AuditPlace',
            fields=[
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='place', serialize=False, to='common.auditentry')),
                ('digest', models.CharField(max_length=12)),
                ('noted_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='AuditUnsealed',
            fields=[
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='unsealed', serialize=False, to='common.auditentry')),
            ],
        ),
        migrations.CreateModel(
            name='UserSession',
            fields=[
                ('session_key', models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name='session key')),
                ('session_data', models.TextField(verbose_name='session data')),
                ('expire_date', models.DateTimeField(db_index=True, verbose_name='expire date')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'common_session',
            },
        ),
        migrations.CreateModel(
            name='AuditSeal',
            fields=[
                ('number', models.BigIntegerField(primary_key=True, serialize=False)),
                ('private_sha256', models.CharField(max_length=64)),
                ('previous', models.CharField(max_length=64)),
                ('sha256', models.CharField(max_length=64, unique=True)),
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='seal', to='common.auditentry')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='audit_seal_counts_from_one')],
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'digest'), name='recovery_code_once')],
            },
        ),
    ]
