import time, random, pytest
from django.db import connection
from django.utils import timezone
from tests import factories
from tests.contest import release_fixtures as cast
from scoring import reruns, selectors
from scoring.models import *
from contest.defenses import figures
from contest.scoring_queue.figures import read_queue
from contest.exports import tables
from contest.models import Release
pytestmark=pytest.mark.django_db
N=100_000
def t(name, f):
    b=time.perf_counter(); r=f(); print(f"{name}: {time.perf_counter()-b:.2f} s", flush=True); return r
def clone(cur, table, over, frm):
    cur.execute(f"select column_name from information_schema.columns where table_name='{table}' order by ordinal_position")
    cols=[c for (c,) in cur.fetchall() if c!="id"]
    sel=", ".join(over.get(c, f'x."{c}"') for c in cols)
    cur.execute(f'insert into {table} ({", ".join(chr(34)+c+chr(34) for c in cols)}) select {sel} {frm}')
def test_scale(capsys):
    factories.policy_version(); now=timezone.now()
    d=cast.defense(1); img=factories.image(received_at=cast.MONDAY,label_from=cast.MONDAY)
    from tests.scoring import cast as sc
    r=sc.ruled(img); cast.scored(d,img,[0,1,-1]); olga=factories.user("olga","organizers")
    with connection.cursor() as c:
        clone(c,"labeling_image",{"public_id":"'P-'||g","pixels_sha256":"md5(g::text)||md5(g::text)"},f"from labeling_image x, generate_series(1,{N}) g where x.id={img.pk}")
        clone(c,"adjudication_ruling",{"image_id":"i.id"},f"from adjudication_ruling x, labeling_image i where x.id={r.pk} and i.id<>{img.pk}")
        for run in Run.objects.filter(defense=d):
            # runs of 256
            c.execute(f"select min(id),max(id) from labeling_image where id<>{img.pk}"); lo,hi=c.fetchone()
            for a in range(lo,hi+1,256):
                n=Run.objects.create(defense=d,round=run.round,seed=1,batch_size=16,state="assessed",created_at=now,started_at=now,finished_at=now,worker="w",fresh=run.round==3)
                clone(c,"scoring_runitem",{"run_id":str(n.pk),"image_id":"i.id","position":f"i.id-{a}"},f"from scoring_runitem x, labeling_image i where x.run_id={run.pk} and i.id between {a} and {a+255}")
            clone(c,"scoring_prediction",{"item_id":"y.id","image_id":"y.image_id","score_bird":"random()"},f"from scoring_prediction x, scoring_runitem y where x.defense_id={d.pk} and x.round={run.round} and x.image_id={img.pk} and y.round={run.round} and y.image_id<>{img.pk}")
        c.execute("analyze")
    Release.objects.create(week="2026-W47", manifest_sha256="ab" * 32, counts={}, bytes=1, released_at=cast.AFTER)
    with capsys.disabled():
        print(Prediction.objects.count())
        t("spread",lambda:selectors.spread(selectors.predictions_in_force().filter(defense=d)))
        t("public figures",lambda:figures._figures(d,True)); t("rows",lambda:figures.rows(public=True))
        for k in figures.KINDS: t("pictures "+k,lambda:figures.pictures(d,public=True,kind=k,before=None,now=now))
        t("queue",lambda:read_queue(now=now))
        t("settled",lambda:tables.settled_items().count())
        t("preview",lambda:reruns.rerun_preview(d,reruns.Scope("All.")))
        rr=t("start",lambda:reruns.rerun_start(defense=d,scope=reruns.Scope("All."),reason="w",by=olga,now=now,rng=random.Random(1)))
        t("queue with all waiting",lambda:read_queue(now=now))
        with connection.cursor() as c:
            clone(c,"scoring_prediction",{"item_id":"y.id","image_id":"y.image_id","rerun_id":str(rr.pk),"answer":"1"},f"from scoring_prediction x, scoring_runitem y where x.defense_id={d.pk} and x.rerun_id is null and x.image_id={img.pk} and x.round=y.round and y.rerun_id={rr.pk}")
            c.execute("analyze")
        Run.objects.filter(rerun=rr).update(state="finished")
        t("changes",lambda:reruns.changes(rr)); t("changed",lambda:(reruns.changed_answers(rr).count(),list(reruns.changed_answers(rr)[:24])))
        t("progress",lambda:reruns.progress(rr,now=now))
        t("apply",lambda:reruns.rerun_apply(rerun_id=rr.pk,by=olga,now=now))
        rr.refresh_from_db()
        t("changes after",lambda:reruns.changes(rr))
        with connection.cursor() as c: c.execute("analyze")
        t("settled",lambda:tables.settled_items().count())
        t("public figures",lambda:figures._figures(d,True))
        t("runs_without",lambda:selectors.runs_without_assessment().count())
        t("predictions_of_run",lambda:len(selectors.predictions_of_run(Run.objects.filter(rerun=rr).first())))
        cnt=0
        from contest.rules import week_named
        t("prediction rows",lambda:sum(1 for _ in tables._prediction_rows(week_named("2026-W47","UTC"))))
