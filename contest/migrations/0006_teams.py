"""Steps of requests, one open request per team, names regardless of case, one invitation per address."""

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('contest', '0005_stakes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='EntitlementStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('asked', 'asked'), ('question', 'question'), ('answer', 'answer'), ('accepted', 'accepted'), ('refused', 'refused'), ('withdrawn', 'withdrawn')], max_length=9)),
                ('words', models.TextField(blank=True)),
                ('made_at', models.DateTimeField()),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='entitlement',
            name='entitlement_names_paper',
        ),
        migrations.RemoveField(
            model_name='entitlement',
            name='answer',
        ),
        migrations.RemoveField(
            model_name='entitlement',
            name='question',
        ),
        migrations.RemoveField(
            model_name='entitlement',
            name='reason',
        ),
        migrations.AddField(
            model_name='entitlement',
            name='author',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='entitlement',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'paper'), _negated=True), models.Q(models.Q(('arxiv_id', ''), _negated=True), models.Q(models.Q(('email', ''), _negated=True), ('author__isnull', True), _connector='OR')), _connector='OR'), name='entitlement_names_paper'),
        ),
        migrations.AddConstraint(
            model_name='entitlement',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['asked', 'question'])), fields=('team',), name='entitlement_one_open'),
        ),
        migrations.AddConstraint(
            model_name='team',
            constraint=models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='team_name_once'),
        ),
        migrations.AddConstraint(
            model_name='teaminvitation',
            constraint=models.UniqueConstraint(condition=models.Q(('accepted_at__isnull', True), ('withdrawn_at__isnull', True)), fields=('team', 'email'), name='team_invitation_once_per_address'),
        ),
        migrations.AddField(
            model_name='entitlementstep',
            name='entitlement',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='steps', to='contest.entitlement'),
        ),
        migrations.AddField(
            model_name='entitlementstep',
            name='made_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
    ]
