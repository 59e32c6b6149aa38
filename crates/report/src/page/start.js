// Reads the data and makes the parts that it has.

(function start() {
  const data = document.getElementById('data');
  const view = JSON.parse(data.textContent);
  data.remove();
  document.querySelector('noscript')?.remove();
  startTheme();
  startSummary(view);
  const parts = {};
  window.linpoint = parts;
  if (view.comparison) comparisonPart(view.comparison);
  if (view.history) parts.history = new HistoryPart(view.history);
  if (view.run) parts.run = new RunPart(view);
  if (view.proof) parts.proof = new ProofPart(view.proof);
  if (view.shapes && view.shapes.structures.length) parts.shapes = new ShapesPart(view.shapes);
  if (view.source && !view.run) {
    const lines = view.source.text.replace(/\n$/, '').split('\n').map((text, k) => el('div', {}, el('span', {}, k + 1), show(text, 300)));
    document.getElementById('parts').append(el('details', { class: 'text' }, el('summary', {}, `Source: ${show(view.source.name, 80)}`), el('div', { class: 'source', tabindex: '0' }, lines)));
  }
  if (view.text) document.getElementById('parts').append(el('details', { class: 'text' }, el('summary', {}, 'The same as text'), el('pre', { tabindex: '0' }, show(view.text.replace(/[^\S\n]+$/gm, ''), 200000).replace(/\u240a/g, '\n'))));
  performance.mark('linpoint-ready');
})();
