"""The tables of this app."""

import django.db.models.deletion
from django.db import migrations, models

import adjudication.enums


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("adjudication", "0001_initial"),
    ]

    dependencies = [
        ('labeling', '0001_tables'),
    ]

    operations = [
        migrations.CreateModel(
            name='Ruling',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('verdict', models.CharField(choices=[('valid', 'valid'), ('rejected', 'rejected')], max_length=8)),
                ('label', models.CharField(blank=True, choices=[('bicycle', 'bicycle'), ('bird', 'bird')], max_length=8)),
                ('reasons', models.JSONField(default=list)),
                ('smallest_box_numerator', models.BigIntegerField(null=True)),
                ('smallest_box_denominator', models.BigIntegerField(null=True)),
                ('response_ids', models.JSONField()),
                ('decided_at', models.DateTimeField(db_index=True)),
                ('decided_by', models.CharField(choices=[('rules', 'rules'), ('board', 'board')], max_length=8)),
                ('explanation', models.TextField(blank=True)),
                ('image', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rulings', to='labeling.image')),
                ('panel', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rulings', to='labeling.panel')),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.policyversion')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('image', 'number'), name='ruling_number_once'), models.CheckConstraint(condition=models.Q(models.Q(('verdict', adjudication.enums.Verdict['VALID']), models.Q(('label', ''), _negated=True)), models.Q(('label', ''), ('verdict', adjudication.enums.Verdict['REJECTED'])), _connector='OR'), name='ruling_label_exactly_when_valid'), models.CheckConstraint(condition=models.Q(('decided_by', adjudication.enums.DecidedBy['RULES']), models.Q(('explanation', ''), _negated=True), _connector='OR'), name='ruling_of_board_explained'), models.CheckConstraint(condition=models.Q(models.Q(('smallest_box_denominator__isnull', True), ('smallest_box_numerator__isnull', True)), ('smallest_box_numerator__lte', models.F('smallest_box_denominator')), _connector='OR'), name='ruling_box_is_a_share')],
            },
        ),
    ]
