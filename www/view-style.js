// The style of a view, inside its own tree: a host page's rules do not reach in, and these not out. A container has no
// width of its own, so where the host page floats it or makes it a flex item, it needs a least one.

export const STYLE = `
:host { display: block; container-type: inline-size; min-inline-size: min(100%, 20rem); }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
.view {
  --paper: #ffffff; --soft: #f6f7f9; --line: #dde1e6; --ink: #1b2026; --quiet: #56606b; --accent: #1664c0; --past: #c9480b;
  --warn-paper: #fff6e5; --warn-line: #e3b35c; --radius: 10px; --measure: 72ch;
  color-scheme: light; color: var(--ink); background: var(--paper);
  font: 400 17px/1.6 Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans TC", "PingFang TC", "Microsoft JhengHei", sans-serif;
  text-align: start; direction: ltr; text-transform: none; text-indent: 0; text-shadow: none; letter-spacing: normal; word-spacing: normal; white-space: normal;
}
.view[data-theme="dark"] {
  --paper: #14171b; --soft: #1c2026; --line: #343b44; --ink: #e8ebef; --quiet: #a9b2bd; --accent: #6ab0ff; --past: #ff8a50;
  --warn-paper: #2d2614; --warn-line: #8a6a24; color-scheme: dark;
}
.view.contrast, .view.contrast[data-theme] { --quiet: var(--ink); --line: var(--ink); --accent: #0a3f86; }
.view.contrast[data-theme="dark"] { --accent: #a9d1ff; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
[hidden] { display: none !important; }

.view-head { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: .3rem 1rem; margin: 0 0 .4rem; }
h2, h3 { margin: 0; line-height: 1.25; letter-spacing: -.01em; font-weight: 680; }
h2 { font-size: 1.45rem; }
h3 { font-size: .98rem; font-weight: 620; }
.explain { margin: 0 0 .7rem; max-width: var(--measure); color: var(--quiet); text-wrap: pretty; }
.intro { display: flex; flex-wrap: wrap; gap: 0 3rem; align-items: center; justify-content: space-between; }
.intro .explain { flex: 1 1 26rem; }
.intro .formula { flex: 0 1 auto; max-width: 100%; }
.notes { margin: .3rem 0 .8rem; font-size: .92rem; color: var(--quiet); max-width: 92ch; }
.notes:empty { display: none; }
.tools { display: flex; flex-wrap: wrap; gap: .5rem; }
button, select, textarea, input[type="text"] {
  font: inherit; font-size: .9rem; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 7px; padding: .25rem .7rem; min-height: 2rem;
}
button { cursor: pointer; }
button:hover:not(:disabled) { background: var(--soft); }
button:disabled { opacity: .55; cursor: default; }
textarea, input[type="text"] { width: 100%; resize: vertical; font-variant-numeric: tabular-nums; }
[aria-invalid="true"] { border-color: var(--past); }
.problem { margin: .15rem 0 0; color: var(--past); font-size: .86rem; }
.problem:empty { display: none; }

.controls { display: flex; flex-wrap: wrap; gap: .7rem 1.6rem; align-items: start; margin: 0 0 .8rem; }
.chips { display: flex; flex-wrap: wrap; gap: .4rem; margin: 0; padding: 0; border: 0; min-width: 0; flex: 1 1 100%; }
.chips legend, .slider label, .field > span, .field label > span { font-size: .82rem; color: var(--quiet); padding: 0; }
.chips legend { margin-bottom: .2rem; }
.chip { position: relative; display: inline-flex; align-items: center; gap: .45em; padding: .2rem .75rem; font-size: .9rem; border: 1px solid var(--line); border-radius: 99px; cursor: pointer; white-space: nowrap; }
.chip input { position: absolute; opacity: 0; inset: 0; width: 100%; height: 100%; margin: 0; cursor: pointer; }
.chip .dot { width: .7em; height: .7em; border-radius: 50%; background: var(--colour, var(--quiet)); }
.chip:hover { background: var(--soft); }
.chip:has(:checked) { border-color: var(--colour, var(--accent)); box-shadow: inset 0 0 0 1px var(--colour, var(--accent)); font-weight: 600; }
.chip:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
.chip:has(input[type="checkbox"]:not(:checked)) .dot { opacity: .25; }
.slider { display: grid; flex: 1 1 11rem; min-width: 0; max-width: 20rem; }
.slider.long { flex: 2 1 15rem; max-width: 34rem; }
.slider label { display: flex; justify-content: space-between; gap: .6rem; }
.slider output { color: var(--ink); font-weight: 600; font-variant-numeric: tabular-nums; }
input[type="range"] { width: 100%; margin: 0; height: 1.7rem; accent-color: var(--accent); touch-action: pan-y; }
input[type="range"].past { accent-color: var(--past); }
.track { position: relative; }
.track.marked { padding-bottom: .8rem; }
.mark { position: absolute; bottom: 0; left: calc(8px + (100% - 16px) * var(--share)); transform: translateX(-50%); font-size: .72rem; line-height: 1; color: var(--quiet); white-space: nowrap; }
.mark::before { content: ""; position: absolute; left: 50%; bottom: 1.05em; width: 1px; height: .4rem; background: var(--quiet); }
.field { display: grid; gap: .1rem; min-width: 0; max-width: 100%; }
.field label { display: grid; gap: .1rem; }
.field.broad { flex: 1 1 16rem; max-width: 40rem; }
.field select { max-width: 100%; min-width: 0; text-overflow: ellipsis; }
.check { margin-top: 1.3rem; display: inline-flex; align-items: center; gap: .45rem; font-size: .9rem; min-height: 2rem; cursor: pointer; }
.check input { width: 1.05rem; height: 1.05rem; accent-color: var(--accent); margin: 0; }
.text-choice { display: grid; gap: .5rem; min-width: 0; max-width: 100%; }
.text-choice:has(.own:not([hidden])) { flex: 1 1 100%; }
.own { display: grid; gap: .3rem; max-width: 60rem; padding: .6rem .8rem; border: 1px dashed var(--line); border-radius: var(--radius); }
.own.over { border-color: var(--accent); background: var(--soft); }
.own > label { font-size: .82rem; color: var(--quiet); }
.own .notes { margin: 0; }
.own-tools { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: center; }
.own-tools .check { margin: 0; }

.messages p, p.messages { margin: 0 0 .6rem; padding: .5rem .9rem; background: var(--warn-paper); border: 1px solid var(--warn-line); border-radius: var(--radius); font-size: .92rem; overflow-wrap: anywhere; }
.messages button { min-height: 0; padding: .05rem .55rem; margin-inline-start: .2rem; }
.engine { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1rem; margin: .1rem 0 .7rem; padding: .5rem .9rem; background: var(--soft); border-radius: var(--radius); }
.engine .field { display: inline-flex; align-items: center; gap: .5rem; }
.status { margin: 0; flex: 1 1 20rem; font-size: .9rem; }
progress { width: 8rem; height: .6rem; accent-color: var(--accent); }

.charts { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.8rem 2rem; }
.chart { margin: 0; min-width: 0; break-inside: avoid; }
.chart.wide, .chart:only-child { grid-column: 1 / -1; }
.chart-head { display: flex; align-items: center; justify-content: space-between; gap: .6rem; margin-bottom: .35rem; min-height: 2rem; }
canvas { display: block; max-width: 100%; }
.readout { margin: .2rem 0 0; min-height: 1.6em; font-size: .88rem; font-variant-numeric: tabular-nums; }
.summary { margin: 0; font-size: .86rem; color: var(--quiet); max-width: 92ch; }
.menu { position: relative; white-space: nowrap; }
.menu summary, .numbers summary { cursor: pointer; font-size: .86rem; color: var(--accent); list-style: none; border-radius: 6px; padding: .1rem .4rem; }
.menu summary::-webkit-details-marker { display: none; }
.menu summary::after { content: " ▾"; }
.menu-items { position: absolute; inset-inline-end: 0; z-index: 6; display: grid; min-width: 11rem; padding: .3rem; background: var(--paper); border: 1px solid var(--line); border-radius: 9px; box-shadow: 0 6px 24px rgb(0 0 0 / .16); }
.menu-items button { border: 0; text-align: start; border-radius: 5px; }
.numbers > summary { display: list-item; list-style: inside disclosure-closed; width: fit-content; margin-inline-start: -.4rem; }
.numbers[open] > summary { list-style-type: disclosure-open; }
.scroll { overflow: auto; max-height: 22rem; }
table { border-collapse: collapse; font-size: .84rem; font-variant-numeric: tabular-nums; margin: .3rem 0; }
caption { text-align: start; color: var(--quiet); padding-bottom: .3rem; }
th, td { padding: .2rem .7rem; text-align: end; border-bottom: 1px solid var(--line); white-space: nowrap; font-weight: 400; }
thead th { position: sticky; top: 0; background: var(--paper); font-weight: 600; }
th:first-child { text-align: start; }
.formula { margin: 0 0 .6rem; padding-block: .3rem; overflow-x: auto; overflow-y: hidden; display: flex; flex-wrap: wrap; gap: .2rem 2.5rem; align-items: center; }
.formula math { font-size: min(1.1rem, 4cqi); margin: 0; width: auto; }
.controls.small { margin: 0 0 .3rem; gap: .4rem 1rem; }
.findings { grid-column: 1 / -1; list-style: none; margin: -.6rem 0 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: .35rem 1.6rem; font-size: .93rem; }
.findings li { padding-inline-start: 1.1em; position: relative; }
.findings li::before { content: ""; position: absolute; inset-inline-start: 0; top: .55em; width: .62em; height: .62em; border-radius: 50%; background: var(--colour, var(--quiet)); }
.share-dialog { width: min(44rem, calc(100% - 2rem)); color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 14px; padding: 1.3rem 1.5rem; }
.share-dialog::backdrop { background: rgb(0 0 0 / .45); }
.share-part { display: grid; grid-template-columns: 1fr auto; gap: .3rem .8rem; align-items: end; margin-bottom: .9rem; }
.share-part label { display: grid; font-size: .86rem; color: var(--quiet); }
.share-part textarea { font: .82rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; color: var(--ink); }
.copied { margin: 0 0 .6rem; min-height: 1.5em; font-size: .9rem; }
.laboratory { grid-column: 1 / -1; min-width: 0; }
.board-tools { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: center; }
.cost { margin: .2rem 0 0; font-size: .86rem; color: var(--quiet); }
.board { width: 100%; table-layout: fixed; font-size: .93rem; }
.board > thead th:nth-child(2) { width: 24%; }
.board > * > tr > * { text-align: start; vertical-align: top; white-space: normal; padding: .7rem .7rem .7rem 0; overflow-wrap: anywhere; }
.board > tbody > tr:not(.more) > * { border-bottom: 0; padding-bottom: .2rem; }
.board > tbody > .more > * { padding-top: 0; }
.board .charts { grid-template-columns: minmax(0, 1fr); max-width: 60rem; }
.board p { margin: .25rem 0 0; }
.board strong { font-weight: 620; }
.board progress { width: 100%; max-width: 12rem; }
.verdict { font-weight: 620; }
[data-verdict="unmeasured"] .verdict { color: var(--quiet); font-weight: 400; }
[data-verdict="differs"] .verdict { color: var(--past); }
.board .charts { margin-top: .6rem; }
.board .more > td > .numbers > .scroll { max-height: none; }
.board .scroll table + table { margin-top: .8rem; }
a { color: var(--accent); }

@container (max-width: 720px) {
  .board, .board > tbody, .board > tbody > tr, .board > tbody > tr > *, .board > caption { display: block; width: 100%; min-width: 0; }
  .board > thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .board > tbody { border-bottom: 1px solid var(--line); padding-block: .6rem; }
  .board > tbody > tr > *, .board > tbody > .more > * { border: 0; padding: .25rem 0; }
  .charts { grid-template-columns: minmax(0, 1fr); }
}
@container (max-width: 460px) {
  .view { font-size: 16px; }
  h2 { font-size: 1.25rem; }
  .chip { padding: .12rem .6rem; font-size: .84rem; }
  .controls { gap: .6rem 1rem; }
  .slider { flex-basis: 9rem; }
}
@media (forced-colors: active) {
  .chip:has(:checked) { border: 2px solid Highlight; }
  .chip .dot, .findings li::before { forced-color-adjust: none; }
}
@media print {
  .controls, .engine, .tools, .menu, .numbers, .readout, .messages { display: none; }
  .charts { display: block; }
  .chart { margin-bottom: 1.2rem; }
  .view, .view[data-theme] { color-scheme: light; --paper: #fff; --soft: #fff; --line: #999; --ink: #000; --quiet: #333; font-size: 11pt; }
}
`;
