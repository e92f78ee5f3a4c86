"""CSS of the warm-up report page, for screens from 390 pixels, light and dark, and for print."""

_DARK = "--paper:#14171a;--ink:#e9e6df;--line:#30353a;--faint:#a5a29b;--accent:#4cc2bd;--wrong:#f0907f"
STYLE = f"""
:root{{color-scheme:light dark;--paper:#faf9f6;--ink:#1b1f24;--line:#d9d6cf;--faint:#5d6167;--accent:#0b6e6e;
--wrong:#a63d2f}}
@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;
font-variant-numeric:tabular-nums}}
main{{max-width:76rem;margin:0 auto;padding:24px 24px 64px}}
h1{{font-size:28px;line-height:1.25;margin:0 0 12px;overflow-wrap:anywhere}}
h1 small{{display:block;font-size:14px;font-weight:400;color:var(--faint)}}
h2{{font-size:20px;margin:40px 0 8px}}
h3{{font-size:16px;margin:24px 0 8px}}
p,ol,ul{{max-width:72ch;margin:8px 0}}
.lead{{font-size:18px}}
code{{font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:4px 16px;margin:12px 0}}
dt{{color:var(--faint)}}
dd{{margin:0;overflow-wrap:anywhere}}
.warnings{{list-style:none;padding:0}}
.warnings li{{border-left:3px solid var(--wrong);padding:2px 0 2px 12px;margin:8px 0}}
table{{border-collapse:collapse;width:100%;margin:12px 0}}
caption{{text-align:left;color:var(--faint);font-size:14px;padding-bottom:4px}}
th,td{{text-align:right;padding:6px 0 6px 16px;border-bottom:1px solid var(--line);font-weight:400;
vertical-align:baseline}}
th:first-child{{text-align:left;padding-left:0}}
thead th{{color:var(--faint);font-size:14px;vertical-align:bottom}}
summary{{cursor:pointer;color:var(--accent)}}
figure{{margin:0;break-inside:avoid}}
figcaption{{font-size:14px}}
.curves{{display:grid;grid-template-columns:repeat(auto-fill,minmax(290px,1fr));gap:16px;margin:12px 0}}
svg{{display:block;width:100%;height:auto}}
svg text{{font-size:12px;fill:var(--faint)}}
svg .value{{fill:var(--ink);font-weight:600;stroke:var(--paper);stroke-width:4;paint-order:stroke}}
.grid{{stroke:var(--line)}}
.at{{stroke:var(--faint);stroke-dasharray:3 3}}
.curve{{fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round}}
.dot{{fill:var(--accent);stroke:var(--paper);stroke-width:2}}
.worst{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,480px),1fr));gap:28px 32px;margin:16px 0}}
.worst article{{border-top:1px solid var(--line);padding-top:8px;break-inside:avoid}}
.worst h3{{margin:0 0 8px;overflow-wrap:anywhere}}
.views{{display:grid;grid-auto-flow:column;grid-auto-columns:minmax(0,224px);gap:8px}}
.views img{{display:block;width:100%;height:auto;background:#808080}}
.views figcaption{{color:var(--faint);font-size:13px;line-height:1.3;margin-top:4px}}
.worst p{{font-size:14px}}
@media (max-width:640px){{
main{{padding:16px 16px 48px}}
dl{{display:block}}
dd{{margin-bottom:8px}}
thead{{position:absolute;clip-path:inset(50%)}}
table,caption,tbody,tr,th,td{{display:block}}
tr{{border-bottom:1px solid var(--line);padding:8px 0}}
tbody th,td{{border:0;padding:2px 0}}
tbody th{{font-weight:600}}
td{{display:flex;justify-content:space-between;gap:16px}}
td::before{{content:attr(data-label);color:var(--faint);text-align:left}}
}}
@media print{{
body{{background:#fff;font-size:12px}}
main{{max-width:none;padding:0}}
.worst{{grid-template-columns:1fr 1fr}}
.views{{grid-auto-columns:minmax(0,120px)}}
.curves{{grid-template-columns:repeat(3,1fr)}}
h2,h3{{break-after:avoid}}
tr{{break-inside:avoid}}
}}
"""
