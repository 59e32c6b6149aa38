// A run: a column a thread, a row a step; the slider moves through it, and memory, source and claims follow.

class RunPart {
  constructor(view) {
    this.run = view.run;
    this.claims = view.claims || [];
    this.source = view.source;
    this.history = view.history;
    this.memories = [this.run.initial];
    for (const step of this.run.steps) this.memories.push(step.memory || this.memories[this.memories.length - 1]);
    this.folded = this.run.steps.some((step) => step.aside);
    this.build();
    const wrong = this.run.wrong === undefined ? this.run.steps.length : this.run.wrong + 1;
    this.slide.to(wrong);
  }

  build() {
    const { run } = this;
    const part = section('run', 'Run', `A column is a thread, a row is one step, in the order in which they happened. The slider goes through the run; what the step changed in memory has a ● and stands out.`);
    this.slide = slider('Steps taken', run.steps.length, 0, (n) => this.to(n), 'run');
    const tools = el('div', { class: 'tools' });
    this.slide.box.classList.add('grow');
    tools.append(this.slide.box);
    if (run.wrong !== undefined) tools.append(el('button', { type: 'button', id: 'to-wrong', click: () => this.slide.to(run.wrong + 1) }, '✗ Where it goes wrong'));
    if (this.folded) {
      const all = el('button', { type: 'button', 'aria-pressed': 'false', click: () => {
        this.folded = !this.folded;
        all.setAttribute('aria-pressed', String(!this.folded));
        this.table();
        this.to(this.slide.place());
      } }, 'All steps');
      tools.append(all);
    }
    const why = run.reason && !(this.history && this.history.impossible !== undefined) ? el('div', { class: 'why', id: 'run-why' }, el('b', {}, 'Why: '), value(run.reason, 2000)) : null;
    this.steps = el('div', { class: 'steps', tabindex: '0', role: 'region', 'aria-label': 'Steps; up and down go one step', keydown: (e) => this.key(e) });
    this.memory = el('div', { class: 'memory', tabindex: '0', role: 'region', 'aria-label': 'Memory after the step' });
    const hasMemory = run.initial.variables.length > 0 || run.steps.some((step) => step.memory);
    const side = hasMemory || this.source || this.claims.length;
    const card = el('div', { class: 'card' }, tools, el('div', { class: side ? 'run' : '' }, this.steps, side ? this.memory : null));
    if (why) part.append(why);
    part.append(card);
    this.variables = el('div', { id: 'variables' });
    this.heap = svgEl('svg', { class: 'heap', id: 'heap' });
    if (this.claims.length) this.memory.append(el('h3', {}, 'Claims'), el('div', {}, this.claims.map((claim) => this.claimBox(claim))));
    if (hasMemory) {
      this.memoryTitle = el('h3', {}, 'Memory');
      this.memory.append(this.memoryTitle, this.variables, this.heap);
    }
    if (this.source) {
      this.lines = this.source.text.replace(/\n$/, '').split('\n').map((text, k) => el('div', {}, el('span', {}, k + 1), show(text, 300)));
      this.listing = el('div', { class: 'source', tabindex: '0', role: 'region', 'aria-label': 'Source' }, this.lines);
      this.memory.append(el('h3', {}, `Source: ${show(this.source.name, 80)}`), this.listing);
    }
    this.table();
  }

  table() {
    const { run } = this;
    const arcs = this.claims.length ? el('th', { class: 'arcs' }, '') : null;
    if (arcs) arcs.style.minWidth = '64px';
    const head = el('tr', {}, el('th', { scope: 'col' }, '#'), arcs, run.threads.map((name) => el('th', { scope: 'col' }, value(name, 40))));
    const rows = [];
    this.rows = new Map();
    let skipped = 0;
    const fold = () => {
      if (skipped) rows.push(el('tr', { class: 'fold' }, el('td', { class: 'num' }, '…'), arcs ? el('td', { class: 'arcs' }) : null, el('td', { colspan: run.threads.length }, `${count(skipped, 'step')} left out: nothing here depends on them`)));
      skipped = 0;
    };
    run.steps.forEach((step, k) => {
      if (this.folded && step.aside && k !== run.wrong) {
        skipped++;
        return;
      }
      fold();
      const what = el('td', { class: `who ${step.kind}` }, step.line && step.kind === 'step' ? el('span', { class: 'ln' }, step.line) : null, { call: '▷ ', return: '◁ ', step: '' }[step.kind], value(step.text, 300), k === run.wrong ? ' ✗' : '', step.place ? el('div', { class: 'place', title: show(step.place, 300) }, value(step.place, 200)) : null);
      const cells = run.threads.map((_, thread) => (thread === step.thread ? what : el('td', {})));
      const row = el('tr', { class: k === run.wrong ? 'wrong' : '', click: () => this.slide.to(k + 1) }, el('td', { class: 'num' }, k + 1), arcs ? el('td', { class: 'arcs' }) : null, cells);
      this.rows.set(k + 1, row);
      rows.push(row);
    });
    fold();
    clear(this.steps, el('table', {}, el('thead', {}, head), el('tbody', {}, rows)));
    if (this.claims.length) requestAnimationFrame(() => this.arcs());
  }

  // From where a claim was made to the steps that fixed its terms.
  arcs() {
    const cell = this.steps.querySelector('th.arcs');
    if (!cell) return;
    const svg = svgEl('svg', { class: 'arcsvg', 'aria-hidden': 'true', width: 64, height: this.steps.scrollHeight });
    svg.style.left = `${cell.offsetLeft}px`;
    const middle = (n) => {
      let k = Math.max(1, n);
      while (k > 1 && !this.rows.has(k)) k--;
      const row = this.rows.get(k);
      return row ? row.offsetTop + row.offsetHeight / 2 : 0;
    };
    for (const claim of this.claims) {
      const from = middle(claim.made + 1);
      for (const term of claim.terms) {
        const to = middle(term.fixed + 1);
        if (Math.abs(to - from) < 1) continue;
        const bend = Math.min(52, 14 + Math.abs(to - from) / 6);
        svg.append(svgEl('path', { d: `M60,${from} C${60 - bend},${from} ${60 - bend},${to} 60,${to}`, class: term.fixed !== term.seen ? 'late' : '' }), svgEl('circle', { cx: 60, cy: to, r: 3 }));
      }
      svg.append(svgEl('circle', { cx: 60, cy: from, r: 5, class: 'made' }));
    }
    this.steps.append(svg);
  }

  claimBox(claim) {
    const go = (n) => el('button', { type: 'button', click: () => this.slide.to(n + 1) }, `step ${n + 1}`);
    return el('div', {}, el('div', { class: 'why' }, el('b', {}, `${show(claim.outcome, 200)}: `), el('code', {}, value(claim.text, 600)), ` made by ${show(claim.thread, 60)} in `, go(claim.made), ', decided in ', go(claim.decided)),
      el('table', { class: 'vars' }, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'term'), el('th', { scope: 'col' }, 'value'), el('th', { scope: 'col' }, 'fixed by'))),
        el('tbody', {}, claim.terms.map((term) => el('tr', {}, el('td', {}, value(term.text)), el('td', {}, value(term.value)), el('td', {}, term.fixed === claim.made ? 'the claim itself' : [go(term.seen), term.seen === term.fixed ? '' : [' final in ', go(term.fixed)]]))))));
  }

  key(e) {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[e.key];
    if (by) this.slide.to(this.slide.place() + by);
    else if (e.key === 'Home') this.slide.to(0);
    else if (e.key === 'End') this.slide.to(this.run.steps.length);
    else return;
    e.preventDefault();
  }

  to(n) {
    const { run } = this;
    for (const [k, row] of this.rows) {
      row.classList.toggle('later', k > n);
      row.classList.toggle('now', k === n);
      if (k === n) row.setAttribute('aria-current', 'step');
      else row.removeAttribute('aria-current');
    }
    const row = this.rows.get(n);
    if (row) {
      const top = row.offsetTop - 60;
      if (top < this.steps.scrollTop || row.offsetTop + 60 > this.steps.scrollTop + this.steps.clientHeight) this.steps.scrollTop = row.offsetTop - this.steps.clientHeight / 2;
    } else if (n === 0) this.steps.scrollTop = 0;
    const step = n > 0 ? run.steps[n - 1] : null;
    if (this.memoryTitle) this.draw(n, step);
    if (this.lines) {
      // A call and a return have no line of their own: the thread's last one stays.
      let last = n - 1;
      while (last >= 0 && (run.steps[last].thread !== step.thread || !run.steps[last].line)) last--;
      const now = last >= 0 ? run.steps[last].line : 0;
      this.lines.forEach((line, k) => {
        line.classList.toggle('at', now === k + 1);
        line.firstChild.textContent = `${now === k + 1 ? '▶ ' : ''}${k + 1}`;
      });
      const at = now ? this.lines[now - 1] : null;
      if (at) this.listing.scrollTop = at.offsetTop - this.listing.offsetTop - this.listing.clientHeight / 2;
    }
    if (step) announce(`step ${n}, ${run.threads[step.thread]}: ${step.text}`);
  }

  draw(n, step) {
    const memory = this.memories[n];
    const before = n > 0 ? this.memories[n - 1] : null;
    this.memoryTitle.textContent = n === 0 ? 'Memory at the start' : `Memory after step ${n}`;
    const old = new Map((before ? before.variables : []).map((one) => [one.name, one.value]));
    const plain = memory.variables.filter((one) => one.to === undefined);
    clear(this.variables, plain.length ? el('table', { class: 'vars' }, el('tbody', {}, plain.map((one) => {
      const was = old.get(one.name);
      const changed = before && was !== one.value;
      return el('tr', { class: changed ? 'changed' : '' }, el('td', {}, value(one.name, 60)), el('td', {}, value(one.value, 300)), el('td', {}, changed && was !== undefined ? ['was ', value(was, 120)] : ''));
    }))) : '');
    const { boxes, arrows } = memoryGraph(memory, before);
    this.heap.toggleAttribute('hidden', boxes.length === 0);
    this.heap.style.display = boxes.length ? '' : 'none';
    if (boxes.length) drawGraph(this.heap, boxes, arrows, `Memory after step ${n}: ${count((memory.nodes || []).length, 'record')}`);
  }
}
