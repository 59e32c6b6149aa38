// Tables: obligations of a proof, two states side by side; and abstract heaps.

class ProofPart {
  constructor(proof) {
    this.proof = proof;
    const open = proof.rows.flatMap((row) => row.cells).reduce((sum, cell) => sum + (cell.open || 0), 0);
    const all = proof.rows.flatMap((row) => row.cells).reduce((sum, cell) => sum + cell.of, 0);
    const part = section('proof', 'Proof', `A row is a step of the program, a column what must be shown of it. ${open ? `${open} of ${all} obligations are not proved: the cells marked ✗ or ? show why.` : `All ${all} obligations are proved.`}`);
    const head = el('tr', {}, el('th', { scope: 'col' }, 'step'), proof.kinds.map(([name, says]) => el('th', { scope: 'col', title: show(says) }, show(name))), el('th', { scope: 'col' }, 'ms'));
    const rows = proof.rows.map((row) => el('tr', {}, el('th', { scope: 'row' }, value(row.step, 80)), row.cells.map((cell, k) => el('td', {}, this.cell(cell, row, proof.kinds[k][0]))), el('td', {}, row.took_ms)));
    this.detail = el('div', { class: 'panel', id: 'countermodel', tabindex: '-1' });
    const table = el('div', { class: 'tall', tabindex: '0', role: 'region', 'aria-label': 'Obligations' }, el('table', { class: 'grid' }, el('thead', {}, head), el('tbody', {}, rows)));
    const legend = el('div', { class: 'legend' }, proof.kinds.map(([name, says]) => el('span', {}, el('i', {}, show(name)), ` ${show(says)}`)));
    const side = proof.countermodels.length > 0;
    part.append(el('div', { class: 'card' }, el('div', { class: side ? 'run' : '' }, table, side ? this.detail : null), legend));
    if (side) this.show(0);
    if (proof.facts && proof.facts.length) part.append(el('details', { class: 'text' }, el('summary', {}, `${count(proof.facts.length, 'fact')} used`), el('ul', { class: 'plain' }, proof.facts.map((fact) => el('li', {}, value(fact))))));
  }

  cell(cell, row, kind) {
    const many = cell.of > 1 ? ` ${cell.open ? `${cell.open}/${cell.of}` : cell.of}` : '';
    if (cell.outcome === 'none') return el('span', { class: 'soft', 'aria-label': 'nothing to show' }, '·');
    if (cell.outcome === 'proved') return el('span', { class: 'ok' }, el('span', { 'aria-label': 'proved' }, '✓'), cell.of > 1 ? ` ${cell.of}` : '');
    const bad = cell.outcome === 'open';
    return el('button', { type: 'button', class: bad ? 'no' : 'dunno', 'aria-label': `${kind} of ${show(row.step, 80)}: ${bad ? 'broken by a state' : 'no answer'}`, title: cell.note ? show(cell.note) : '', click: () => this.show((cell.countermodels || [])[0], cell) }, `${bad ? '✗' : '?'}${many}`);
  }

  show(number, cell) {
    const model = this.proof.countermodels[number];
    if (!model) {
      clear(this.detail, el('h3', {}, 'No answer'), el('p', {}, value((cell && cell.note) || 'the solver gave none')));
      return;
    }
    const slots = (list) => el('table', { class: 'vars' }, el('thead', {}, el('tr', {}, ['', 'before', 'after'].map((name) => el('th', { scope: 'col' }, name)))), el('tbody', {}, list.map((slot) => el('tr', { class: slot.before !== slot.after ? 'changed' : '' }, el('td', {}, value(slot.name)), el('td', {}, value(slot.before)), el('td', {}, slot.before !== slot.after ? value(slot.after) : '=')))));
    const more = cell && (cell.countermodels || []).length > 1 ? select('state ', cell.countermodels.map((k, j) => [String(k), `${j + 1} of ${cell.countermodels.length}`]), (k) => this.show(+k, cell)) : null;
    clear(this.detail, el('h3', {}, value(model.title)), more, el('p', { class: 'lead' }, 'A state that the invariants allow, and that breaks it:'),
      model.sizes.length ? el('p', {}, model.sizes.map(([name, size]) => `${show(name)} = ${show(size)}`).join(', ')) : null,
      model.processes.map((process) => el('div', {}, el('h3', {}, value(process.name), el('span', { class: 'sub' }, ' at ', value(process.at))), process.locals.length ? slots(process.locals) : '')),
      model.slots.length ? [el('h3', {}, 'Shared memory'), slots(model.slots)] : null);
    if (more) more.querySelector('select').value = String(number);
    announce(`${model.title}: a state that breaks it is shown`);
  }
}

function comparisonPart(data) {
  const part = section('views', 'Views', `The state that the specification has beside the one that the implementation’s writes add up to${data.object ? `, for ${show(data.object, 80)}` : ''}. ${count(data.different, 'entry', 'entries')} differ${data.different === 1 ? 's' : ''}, first after ${show(data.after, 300)}.`);
  const missing = (text) => (text === '' ? el('i', {}, 'nothing') : value(text, 600));
  const rows = data.entries.map((one) => {
    const differs = one.left !== one.right;
    return el('tr', { class: differs ? 'differs' : '' }, el('td', { class: 'left' }, value(one.key, 200)), el('td', { class: 'left' }, missing(one.left)), el('td', { class: 'sign' }, differs ? '≠' : '='), el('td', { class: 'left' }, missing(one.right)));
  });
  const table = el('table', { class: 'grid left' }, el('thead', {}, el('tr', {}, ['key', data.left, '', data.right].map((name) => el('th', { scope: 'col' }, show(name))))), el('tbody', {}, rows));
  const writes = (data.writes || []).map((one) => el('tr', {}, el('td', { class: 'left' }, one.number), el('td', { class: 'left' }, value(one.thread)), el('td', { class: 'left' }, value(one.location)), el('td', { class: 'left' }, value(one.value))));
  part.append(el('div', { class: 'card' }, el('div', { class: 'tall', tabindex: '0', role: 'region', 'aria-label': 'Entries of both states' }, table)));
  if (writes.length) {
    part.append(el('h2', {}, 'The last writes to these entries'), el('div', { class: 'card tall', tabindex: '0', role: 'region', 'aria-label': 'Writes' }, el('table', { class: 'grid left' }, el('thead', {}, el('tr', {}, ['record', 'thread', 'where', 'what'].map((name) => el('th', { scope: 'col' }, name)))), el('tbody', {}, writes))));
  }
}

class ShapesPart {
  constructor(shapes) {
    this.shapes = shapes;
    const { total, structures, points = [] } = shapes;
    const part = section('shapes', 'Abstract heaps', `Each stands for every heap of its kind, of any length. The candidate’s heap and the reference’s are drawn over each other: what is the same in both is drawn once. ${structures.length < total ? `${structures.length} of ${total.toLocaleString('en')} are shown.` : ''}`);
    this.svg = svgEl('svg', { class: 'heap', id: 'shape' });
    this.threads = el('ul', { class: 'plain' });
    this.title = el('h3', {});
    const slide = slider('Which heap', structures.length - 1, 0, (n) => this.to(n), 'shape');
    const legend = el('div', { class: 'legend' },
      el('span', {}, el('i', {}, '▣'), ' in both, the same: a duo-object'), el('span', {}, el('i', {}, '□ red'), ' only in the candidate'), el('span', {}, el('i', {}, '┈ blue'), ' only in the reference'),
      el('span', {}, el('i', {}, '❐'), ' any number of records'), el('span', {}, el('i', {}, '╌▶'), ' may lead there'), el('span', {}, el('i', {}, '──▶'), ' leads there'));
    part.append(el('div', { class: 'card' }, el('div', { class: 'tools' }, slide.box), el('div', { class: 'panel' }, this.title, this.threads, this.svg), legend));
    slide.box.classList.add('grow');
    if (points.length) part.append(el('h2', {}, 'Where operations take effect'), el('ul', { class: 'plain' }, points.map((point) => el('li', {}, value(point)))));
    this.to(0);
  }

  to(n) {
    const one = this.shapes.structures[n];
    clear(this.title, value(one.title, 300));
    clear(this.threads, ...(one.threads.length > 1 ? one.threads : []).map((thread) => el('li', {}, value(thread, 400))));
    const pointed = new Set(one.edges.map((edge) => edge.to));
    const boxes = one.nodes.map((node, k) => ({
      id: k,
      title: k === 0 ? 'null' : node.many ? 'any number' : 'one record',
      lines: [...node.names.map((name) => ({ text: `${show(name, 30)} ▸` })), ...node.kinds.map((kind) => ({ text: show(kind, 30) }))],
      cls: k === 0 ? '' : node.of, many: node.many, duo: k > 0 && node.of === 'both',
      last: k === 0 ? 1 : 0, named: node.names.filter((name) => !name.includes('@')).length,
    })).filter((box) => box.id > 0 || pointed.has(0) || box.named);
    // Links are followed from where most names are; null comes last.
    boxes.sort((a, b) => (a.id === 0) - (b.id === 0) || b.named - a.named);
    const arrows = one.edges.map((edge) => ({ from: edge.from, to: edge.to, cls: `${edge.may ? 'may ' : ''}${edge.of === 'both' ? '' : edge.of}` }));
    drawGraph(this.svg, boxes, arrows, `Abstract heap ${n + 1}: ${one.title}`, true);
    announce(one.title);
  }
}
