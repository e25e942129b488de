// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawings of time as SVG: launches by region, words of the host, what a run
// measured; and the SRAM of a PE over launches.
'use strict';

function svg(name, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** Round numbers from 0 to `most`, some eight of them. */
function ticks(most) {
  const rough = most / 8, power = 10 ** Math.floor(Math.log10(rough || 1));
  const by = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
  return Array.from({length: Math.floor(most / by) + 1}, (_, i) => i * by);
}

/** Lanes over cycles: `lit(kernel)` says what a filter keeps. */
function drawTimeline(model, {launch, lit, theme, width}) {
  const {placement, launches} = model;
  const measured = model.measuredLaunches;
  const most = measured.reduce((end, kernel) => Math.max(end, kernel.start + kernel.measured.window[1]), model.cycles);
  // All regions in view, as many as there are.
  const lane = Math.max(9, Math.min(20, Math.floor(168 / (placement.regions.length + 3))));
  const left = width < 600 ? 66 : 120, room = width - left - 14, thin = lane < 14 ? 1 : 4;
  const x = cycle => left + cycle / most * room;
  const lanes = [];
  const box = (kernel, [begin, end], y, height, title, fill, opacity = 1) => svg('rect', {
    x: x(kernel.start + begin), y, width: Math.max(.6, x(end) - x(begin) - .4), height, rx: 1.5, fill, opacity,
    'data-launch': kernel.launch,
    class: (lit(kernel) ? '' : 'dim') + (kernel.launch === launch ? ' current' : ''),
  }, svg('title', {}, title));
  const add = (label, draw) => lanes.push({label, draw});
  const regions = placement.regions.map((region, i) => ({region, i}));
  regions.sort((a, b) => a.region.y - b.region.y || a.region.x - b.region.x);
  regions.forEach(({region, i}) => add('@' + region.name, y => launches.filter(k => k.on === i).map(
      k => box(k, k.window, y, lane - thin, `${k.name}: ${k.kind}, ${spell(k.window[1] - k.window[0])} cycles predicted`,
               kindColor(k.kind, theme)))));
  if (measured.length)
    add('measured', y => measured.map(k => box(
        k, k.measured.window, y, lane - thin, `${k.name}: ${spell(k.measured.cycles)} cycles measured`,
        kindColor(k.kind, theme), .65)));
  const flows = direction => launches.flatMap(kernel => (kernel.flows ?? []).filter(
      flow => isOut(model.streams.get(flow.stream)) === direction).map(flow => ({kernel, flow})));
  for (const [label, out] of [['words in', false], ['words out', true]]) {
    const found = flows(out);
    if (found.length)
      add(label, y => found.map(({kernel, flow}) => box(
          kernel, flow.window, y + thin - 1, lane - 2.5 * thin, `@${flow.stream} for ${kernel.name}: ${spell(flow.words)} words`,
          wireColor(model.streams.get(flow.stream).colors[0], theme))));
  }
  const height = lanes.length * lane + 22;
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img'});
  for (const cycle of ticks(most))
    root.append(svg('line', {class: 'axis', x1: x(cycle), x2: x(cycle), y1: 0, y2: lanes.length * lane}),
                svg('text', {x: x(cycle), y: height - 7, 'text-anchor': !cycle ? 'start' : x(cycle) > width - 40 ? 'end' : 'middle'},
                    !cycle ? '0 cycles' : width < 900 ? spell(cycle) : `${spell(cycle)}, ${seconds(cycle, placement.machine)}`));
  lanes.forEach(({label, draw}, i) => root.append(
      svg('text', {x: left - 8, y: (i + .5) * lane + 3, 'text-anchor': 'end', ...(lane < 12 ? {class: 'small'} : {})}, label),
      ...draw(i * lane + thin / 2)));
  for (const kernel of launches.filter((kernel, i) => i && kernel.entry !== launches[i - 1].entry))
    root.append(svg('line', {class: 'limit', x1: x(kernel.start), x2: x(kernel.start), y1: 0, y2: height - 18}),
                svg('text', {class: 'entry', x: x(kernel.start) + 3, y: 9}, 'entry ' + kernel.entry));
  const now = launches[launch];
  if (now)
    root.append(svg('line', {class: 'cursor', x1: x(now.start + now.window[0]), x2: x(now.start + now.window[0]), y1: 0, y2: height - 18}));
  return root;
}

/** Addresses downwards, launches of the region to the right. */
function drawSram(model, region, {launch, lit, theme, width}) {
  const {machine, sram} = model.placement;
  const own = model.launches.filter(kernel => kernel.on === region).map(kernel => kernel.launch);
  const height = 190, left = 44, bottom = 16, count = Math.max(1, own.length);
  /** The first of the region's launches that is not before one of all. */
  const number = l => { const at = own.findIndex(one => one >= l); return at < 0 ? own.length : at; };
  const x = l => left + number(l) / count * (width - left);
  // Of a program that needs little, the part that it needs.
  const most = sram.peak_bytes * 2 < machine.sram_bytes ? Math.ceil(sram.peak_bytes * 1.3 / 1024) * 1024 : machine.sram_bytes;
  const y = address => Math.min(1, address / most) * (height - bottom);
  const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img'});
  const band = (address, bytes, attributes, title) => root.append(svg('rect', {
    x: left, y: y(address), width: width - left, height: Math.max(.5, y(bytes)), ...attributes}, svg('title', {}, title)));
  band(0, machine.sram_bytes, {class: 'free'}, 'free');
  band(0, machine.runtime_bytes, {class: 'reserved'}, `host runtime: ${spell(machine.runtime_bytes)} bytes`);
  band(machine.runtime_bytes, sram.code_bytes, {fill: theme.quiet, opacity: .45},
       `code: ${spell(sram.code_bytes)} bytes`);
  for (const buffer of model.buffers[region])
    root.append(svg('rect', {
      x: x(buffer.from), width: Math.max(.7, x(buffer.to + 1) - x(buffer.from) - .3),
      y: y(buffer.address), height: Math.max(.7, y(buffer.bytes)),
      ...(buffer.owner.launch === undefined ? {} : {'data-launch': buffer.owner.launch}),
      fill: kindColor(buffer.owner.kind, theme), opacity: buffer.what === 'scratch' ? .55 : 1,
      class: (buffer.owner.launch === undefined || lit(buffer.owner) ? '' : 'dim') + (buffer.owner.launch === launch ? ' current' : ''),
    }, svg('title', {}, `${buffer.owner.name}, ${buffer.what}: ${spell(buffer.bytes)} bytes at ` +
                        `${buffer.address}, launches ${buffer.from} to ${buffer.to}`)));
  const now = x(launch) + (own.includes(launch) ? .5 / count * (width - left) : 0);
  for (const part of [0, .25, .5, .75, 1])
    root.append(svg('text', {x: left - 5, y: Math.max(9, y(most * part)), 'text-anchor': 'end'},
                    `${+(most * part / 1024).toFixed(1)} K`));
  root.append(svg('line', {class: 'limit', x1: left, x2: width, y1: y(sram.peak_bytes), y2: y(sram.peak_bytes)}),
              svg('line', {class: 'cursor', x1: now, x2: now, y1: 0, y2: height - bottom}),
              svg('text', {x: left, y: height - 3}, `its launches, ${own[0]}`),
              svg('text', {x: width, y: height - 3, 'text-anchor': 'end'}, `to ${own.at(-1)}`));
  return root;
}
