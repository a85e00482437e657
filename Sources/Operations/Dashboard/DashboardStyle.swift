extension DashboardPage {
  /// The whole style sheet. Colours on their grounds have a contrast of at least 4.5:1 in both schemes.
  static let style: StaticString = """
    :root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#17202b;--soft:#536172;--line:#dfe4ea;--rail:#e6eaef;\
    --blue:#2563ad;--good:#1a7040;--warn:#8a5300;--bad:#b3261e;--goodbg:#e6f4ec;--warnbg:#fdf1dc;--badbg:#fdeae8}
    @media(prefers-color-scheme:dark){:root{--bg:#10151b;--card:#171d25;--ink:#e3e8ee;--soft:#9aa7b6;--line:#2a333e;\
    --rail:#2a333e;\
    --blue:#79b4f5;--good:#5cc98c;--warn:#e6b04a;--bad:#ff8a80;--goodbg:#12291d;--warnbg:#2c2312;--badbg:#331917}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--bg);color:var(--ink);\
    font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;\
    font-variant-numeric:tabular-nums}
    a{color:var(--blue);text-underline-offset:2px}
    a:focus-visible,input:focus-visible,button:focus-visible,summary:focus-visible,.wide:focus-visible{\
    outline:2px solid var(--blue);\
    outline-offset:2px}
    .skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--card);padding:.3rem .6rem;z-index:2}
    header{background:var(--card);border-bottom:1px solid var(--line);padding:.65rem 1.5rem;display:flex;flex-wrap:wrap;\
    gap:.3rem 1.1rem;align-items:baseline}
    h1{font-size:1.05rem;margin:0;letter-spacing:.01em}h1 small{color:var(--soft);font-weight:400;margin-left:.35rem}
    header p{margin:0;color:var(--soft)}nav{margin-left:auto;display:flex;flex-wrap:wrap;gap:.2rem .95rem}
    nav a{text-decoration:none}nav a:hover{text-decoration:underline}
    main{max-width:1560px;margin:0 auto;padding:1rem 1.5rem 2rem}
    section{margin:0 0 1.6rem}h2{font-size:.95rem;margin:0 0 .5rem;display:inline-block}h3{font-size:.85rem;\
    margin:.9rem 0 .35rem}
    .bad{color:var(--bad)}.warn{color:var(--warn)}.good{color:var(--good)}.soft,caption{color:var(--soft)}
    .pill{border-radius:99px;padding:.05rem .6rem;font-weight:600}.pill.good{background:var(--goodbg)}.pill.bad{\
    background:var(--badbg)}
    .pill.warn{background:var(--warnbg)}
    .note{border-left:3px solid;padding:.45rem .8rem;margin:0 0 .5rem;border-radius:0 4px 4px 0;overflow-wrap:anywhere}
    .note.bad{background:var(--badbg)}.note.warn{background:var(--warnbg)}.note b{margin-right:.4rem}.note span{\
    color:var(--ink)}
    .note pre{margin:.3rem 0 0;white-space:pre-wrap;color:var(--ink);font:12px/1.5 ui-monospace,monospace}
    .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.7rem;margin:0 0 .7rem}
    .card{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.6rem .85rem;min-width:0}
    dl{margin:0}dt{color:var(--soft);font-size:.85rem}dd{margin:0;font-size:1.35rem;line-height:1.3}
    dd small{font-size:.82rem;color:var(--soft);display:block}
    .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:.7rem}
    figure{margin:0}figcaption{display:flex;justify-content:space-between;gap:1rem;font-size:.85rem}
    .chart{display:block;width:100%;height:74px;margin-top:.4rem;border-bottom:1px solid var(--line)}
    .chart .all,.spark path{fill:var(--blue)}.chart .all{opacity:.75}.chart .failed{fill:var(--bad)}
    .axis{display:flex;justify-content:space-between;color:var(--soft);font-size:.78rem;margin-top:.15rem}
    .spark{width:64px;height:16px;float:left;margin:.15rem .6rem 0 0;overflow:visible}
    .spark path{fill:none;stroke:var(--blue);stroke-width:1.4;vector-effect:non-scaling-stroke}
    .bar{width:64px;height:6px;vertical-align:2px;margin-right:.5rem}.bar rect{fill:var(--blue)}.bar .rail{fill:var(--rail)}
    .bar.warn rect:last-child{fill:var(--warn)}.bar.bad rect:last-child{fill:var(--bad)}
    .wide{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:6px}
    table{border-collapse:collapse;width:100%;font-size:.9rem}
    th,td{text-align:left;padding:.34rem .6rem;border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:top}
    tbody tr:last-child>*{border-bottom:0}tbody tr:hover>*{background:var(--bg)}
    thead th{color:var(--soft);font-weight:500;font-size:.82rem}thead a{color:inherit;text-decoration:none}
    thead a:hover{text-decoration:underline}th[aria-sort] a{color:var(--ink);font-weight:600}
    tbody th{font-weight:600;position:sticky;left:0;background:var(--card);max-width:20rem;overflow:hidden;\
    text-overflow:ellipsis}
    td{max-width:26rem;overflow:hidden;text-overflow:ellipsis}.n{text-align:right}
    td small,th small{display:block;font-weight:400;color:var(--soft);font-size:.82rem;overflow:hidden;text-overflow:ellipsis}
    .wrap,.words{white-space:normal;overflow-wrap:anywhere}.wrap{min-width:13rem}.words{min-width:9rem}.zero{\
    color:var(--soft)}
    .n small{max-width:9rem;margin-left:auto}
    .dot::before{content:"";display:inline-block;width:.55em;height:.55em;border-radius:50%;background:currentColor;\
    margin-right:.45em}
    .dot.bad::before{border-radius:1px}.dot.warn::before{clip-path:polygon(50% 0,100% 100%,0 100%);border-radius:0}
    .dot.plain{color:var(--soft)}.dot.plain::before{background:none;box-shadow:inset 0 0 0 1.5px}
    code{font:12px ui-monospace,monospace;background:var(--bg);padding:.1rem .3rem;border-radius:3px}
    .tools{display:flex;flex-wrap:wrap;gap:.4rem .9rem;align-items:baseline;margin:0 0 .5rem}.tools h2{margin:0}
    form{display:flex;gap:.35rem;margin-left:auto}
    input,button{font:inherit;color:inherit;background:var(--card);border:1px solid var(--soft);border-radius:4px;\
    padding:.15rem .5rem}
    input{width:16rem;max-width:100%}input::placeholder{color:var(--soft);opacity:1}label{align-self:center;color:var(--soft)}
    [aria-current]{color:var(--ink);font-weight:600;text-decoration:none}.two{display:grid;gap:0 1.2rem;\
    grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr))}.two>div{min-width:0}
    .empty{color:var(--soft);margin:.2rem 0}footer{color:var(--soft);text-align:center;padding:0 1rem 2rem;font-size:.85rem}
    #note:empty{display:none}#note{position:sticky;top:0;z-index:1;background:var(--badbg);color:var(--bad);\
    padding:.5rem 1.5rem}
    @media(max-width:40rem){header{padding:.6rem .8rem}nav{margin-left:0}main{padding:.8rem}th,td{padding:.34rem .5rem}
    tbody th{max-width:9.5rem}form{margin-left:0;flex-wrap:wrap}.cards{grid-template-columns:1fr 1fr}}
    @media(prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
    """

  /// Asks for the page again each second while it is visible, and changes in place what differs: focus and selection stay.
  /// Everything on it comes as text that the server has escaped; nothing is built from text here.
  static let script: StaticString = """
    'use strict';(()=>{
    const note=document.getElementById('note');let timer,running=false,again=false,failed=0;
    const alike=(a,b)=>a.nodeName===b.nodeName&&(a.id||'')===(b.id||'');
    function follow(a,b){
    if(a.nodeType!==1){if(a.data!==b.data)a.data=b.data;return}
    for(const t of b.attributes)if(t.name!=='open'&&a.getAttribute(t.name)!==t.value)a.setAttribute(t.name,t.value);
    for(const t of[...a.attributes])if(t.name!=='open'&&!b.hasAttribute(t.name))a.removeAttribute(t.name);
    if(a.nodeName==='INPUT')return;
    let x=a.firstChild,y=b.firstChild;
    for(;y;y=y.nextSibling){
    if(x&&alike(x,y)){follow(x,y);x=x.nextSibling;continue}
    const kept=y.id&&document.getElementById(y.id);
    if(kept&&kept.parentNode===a&&alike(kept,y)){a.insertBefore(kept,x);follow(kept,y)}
    else a.insertBefore(document.importNode(y,true),x)}
    while(x){const next=x.nextSibling;x.remove();x=next}}
    async function ask(){
    clearTimeout(timer);if(running){again=true;return}
    running=true;again=false;
    try{
    const reply=await fetch(location.pathname+location.search,{cache:'no-store',signal:AbortSignal.timeout(5000)});
    if(!reply.ok)throw 0;
    const page=new DOMParser().parseFromString(await reply.text(),'text/html');
    for(const id of['top','main']){const next=page.getElementById(id);if(!next)throw 0;\
    follow(document.getElementById(id),next)}
    document.title=page.title;failed=0;note.textContent=''}
    catch{if(++failed===2){note.textContent='The proxy does not answer. What you see is old; this page goes on asking.';
    document.title='authproxy: no answer'}}
    running=false;if(!document.hidden||again)timer=setTimeout(ask,again?0:1000)}
    document.addEventListener('visibilitychange',()=>{if(!document.hidden)ask()});
    document.addEventListener('click',e=>{
    const link=e.target.closest('a[href^="?"]');
    if(!link||e.ctrlKey||e.metaKey||e.shiftKey||e.button)return;
    e.preventDefault();history.replaceState(null,'',link.getAttribute('href').split('#')[0]);ask()});
    function filter(e){
    if(e.target.form?.id!=='filter')return;
    e.preventDefault();history.replaceState(null,'','?'+new URLSearchParams(new FormData(e.target.form)));ask()}
    document.addEventListener('input',filter);
    document.addEventListener('submit',e=>{e.preventDefault();\
    history.replaceState(null,'','?'+new URLSearchParams(new FormData(e.target)));ask()});
    if(!document.hidden)timer=setTimeout(ask,1000)})();
    """
}
