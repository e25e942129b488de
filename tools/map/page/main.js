// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of the page, which is in its address too (so that a view can be
// sent to somebody), what changes it, and who draws it:
//   #launch=3&pe=2,1&filter=fc1&fill=measured&routes=all&stream=column&view=0,0,8,8&theme=dark
'use strict';

const $ = id => document.getElementById(id);
const read = id => JSON.parse($(id).textContent);

// ------------------------------------------------------------------ colors

function themeNow() {
  const style = getComputedStyle(document.documentElement);
  const theme = {name: document.documentElement.dataset.theme};
  for (const name of ['ink', 'quiet', 'panel', 'line', 'mesh', 'grid', 'accent', 'mark'])
    theme[name] = style.getPropertyValue('--' + name).trim();
  theme.heat = [0, 1, 2, 3].map(i => {
    const hex = style.getPropertyValue('--heat' + i).trim();
    return [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
  });
  theme.dark = theme.name === 'dark';
  return theme;
}

function heat(share, {heat: stops}) {
  const at = Math.min(.9999, Math.max(0, share)) * (stops.length - 1), i = Math.floor(at);
  return stops[i].map((value, c) => Math.round(value + (stops[i + 1][c] - value) * (at - i)));
}

const hues = {matmul: 212, sparse_matmul: 232, stationary: 200, attention: 22, norm: 152, softmax: 330,
              elementwise: 268, state: 300, parameter: 84, reduce_tokens: 48, redistribute: 186, transfer: 2};
function kindColor(kind, theme) {
  if (kind === 'load' || kind === 'store') return theme.dark ? '#6d7789' : '#98a2b3';
  const hue = hues[kind] ?? [...kind].reduce((sum, c) => sum * 31 + c.charCodeAt(0), 7) % 360;
  return `hsl(${hue} 62% ${theme.dark ? 58 : 50}%)`;
}
// Neighbouring numbers get hues far apart.
const wireColor = (color, theme) =>
  `hsl(${color * 137 % 360} 78% ${(theme.dark ? 62 : 42) + color % 3 * 5}%)`;
const regionColor = (i, theme) => `hsl(${(212 + i * 137) % 360} 60% ${theme.dark ? 60 : 45}%)`;

// ------------------------------------------------------------------ state

const model = buildModel(read('placement'), read('measured'));
const layers = layersOf(model);
const wafer = new Wafer($('wafer'), model);
const state = {launch: 0, pe: null, filter: '', fill: 'regions', routes: 'launch', pinned: '', theme: ''};

function takeAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const numbers = key => given.get(key)?.split(',').map(Number);
  const {width, height} = model.placement.machine;
  state.filter = given.get('filter') ?? '';
  state.fill = layers.some(layer => layer.name === given.get('fill')) ? given.get('fill') : 'regions';
  state.routes = ['launch', 'all', 'none'].includes(given.get('routes')) ? given.get('routes') : 'launch';
  state.pinned = model.streams.has(given.get('stream')) ? given.get('stream') : '';
  state.theme = given.get('theme') ?? '';
  setLaunch(Number(given.get('launch') ?? model.launches.find(lit)?.launch));
  const [x, y] = numbers('pe') ?? [];
  state.pe = x >= 0 && x < width && y >= 0 && y < height ? {x, y} : null;
  const view = numbers('view');
  if (view?.length === 4 && view.every(Number.isFinite) && view[2] > 0 && view[3] > 0) wafer.show(...view);
  else wafer.fit();
}

function putAddress() {
  const put = new URLSearchParams();
  if (state.launch) put.set('launch', state.launch);
  if (state.pe) put.set('pe', `${state.pe.x},${state.pe.y}`);
  for (const [key, value, usual] of [['filter', state.filter, ''], ['fill', state.fill, 'regions'],
                                     ['routes', state.routes, 'launch'], ['stream', state.pinned, ''],
                                     ['theme', state.theme, '']])
    if (value !== usual) put.set(key, value);
  const [width, height] = wafer.size(), {x, y, scale} = wafer.camera;
  if (state.moved) put.set('view', [x, y, width / scale, height / scale].map(v => +v.toFixed(2)));
  history.replaceState(null, '', '#' + put.toString().replaceAll('%2C', ','));
}

const setLaunch = launch => {
  state.launch = Math.max(0, Math.min(model.launches.length - 1, Math.trunc(launch) || 0));
};
const lit = kernel => !state.filter || matches(kernel, state.filter);

/** The next launch in a direction that the filter keeps. */
function stepLaunch(by) {
  for (let at = state.launch + by; at >= 0 && at < model.launches.length; at += by)
    if (lit(model.launches[at])) return setLaunch(at), true;
  return false;
}

// ------------------------------------------------------------------ drawing

/** Everything that depends on the state; `scene` is what the canvas needs. */
let scene = null;

function shownStreams(kernel, kept) {
  const all = model.placement.streams;
  if (state.pinned) return all.filter(stream => stream.name === state.pinned);
  if (state.routes === 'none') return [];
  const names = state.routes === 'launch' ? new Set(kernel?.streams) : state.filter ? streamsOf(kept) : null;
  return names ? all.filter(stream => names.has(stream.name)) : all;
}

function update() {
  const {placement, launches} = model;
  const dark = state.theme ? state.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  const theme = themeNow();
  const kernel = launches[state.launch];
  const kept = launches.filter(lit);
  const layer = layers.find(one => one.name === state.fill);
  layer.make?.(state.launch);
  const inside = state.pe ? placement.regions.findIndex(r => contains(r, state.pe.x, state.pe.y)) : -1;
  const all = {model, launch: state.launch, lit, theme, pe: state.pe, layer, layers, pinned: state.pinned,
               region: inside < 0 ? kernel?.on ?? 0 : inside};
  const patterns = new Set((kernel?.flows ?? []).map(flow => model.streams.get(flow.stream)?.pattern));
  scene = {regions: placement.regions, active: kernel?.on, lit: new Set(kept.map(k => k.on)),
           streams: shownStreams(kernel, kept), layer, pe: state.pe, theme,
           channelsIn: patterns.has('channel') || patterns.has('channel_row'), channelsOut: [...patterns].some(pattern => isOut({pattern})),
           held: region => [{address: 0, bytes: placement.machine.runtime_bytes, color: theme.grid},
                            {address: placement.machine.runtime_bytes, bytes: placement.sram?.code_bytes ?? 0, color: theme.quiet},
                            ...buffersAt(model.buffers[region], state.launch).map(
                                b => ({...b, color: kindColor(b.owner.kind, theme)}))]};
  $('launch-panel').replaceChildren(...launchPanel(all));
  $('regions-panel').replaceChildren(...regionsPanel(all));
  $('sram-panel').replaceChildren(...sramPanel(all));
  $('pe-panel').replaceChildren(...pePanel(all));
  $('measured-panel').replaceChildren(...measuredPanel(all));
  $('links-panel').replaceChildren(...linksPanel(all));
  $('streams-panel').replaceChildren(...streamsPanel(all));
  $('legend').replaceChildren(...legendOf(model, theme));
  $('timeline').replaceChildren(drawTimeline(model, {...all, width: $('timeline').clientWidth || 1200}));
  $('slider').value = state.launch;
  $('position').textContent = kernel
      ? `launch ${state.launch} of ${launches.length}, cycle ${spell(kernel.window[0])}` +
        (kernel.entry === 'main' ? '' : ` of @${kernel.entry}`) : 'no launches';
  $('filter').value = state.filter;
  $('matches').textContent = state.filter ? `${kept.length} of ${launches.length} launches` : '';
  $('layer').value = state.fill;
  $('routes').value = state.routes;
  $('scale').replaceChildren(...(layer.values
      ? [`${layer.label}:  0`, element('i'), `${spell(layer.most)} ${layer.unit}`]
      : [placement.regions.length > 1 ? 'regions; the launch runs on the strong one' : 'one region']));
  redraw();
}

let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    wafer.draw(scene);
    putAddress();
  });
}

const change = changes => { Object.assign(state, changes); update(); };

// ------------------------------------------------------------------ hands

function tip(event) {
  const pe = wafer.at(event.offsetX, event.offsetY);
  $('tip').hidden = !pe;
  if (!pe) return;
  const {layer} = scene;
  const on = model.placement.regions.find(r => contains(r, pe.x, pe.y));
  const lines = [`PE (${pe.x}, ${pe.y})` + (on ? ` of @${on.name}` : ', without code')];
  if (layer.values)
    lines.push(`${layer.label}: ${spell(layer.values[pe.y * model.placement.machine.width + pe.x])} ${layer.unit}`);
  $('tip').textContent = lines.join('\n');
  const left = Math.min(event.offsetX + 14, $('map').clientWidth - $('tip').offsetWidth - 4);
  $('tip').style.cssText = `left:${left}px;top:${event.offsetY + 16}px`;
}

function listenToMap() {
  const canvas = $('wafer');
  let held = null;
  const move = (act, ...rest) => { wafer[act](...rest); state.moved = true; redraw(); };
  const middle = () => wafer.size().map(side => side / 2);
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    move('zoom', Math.exp(-event.deltaY * .0015), event.offsetX, event.offsetY);
  }, {passive: false});
  canvas.addEventListener('pointerdown', event => {
    held = {x: event.offsetX, y: event.offsetY, far: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (!held) return tip(event);
    const [dx, dy] = [event.offsetX - held.x, event.offsetY - held.y];
    if (!held.far && Math.hypot(dx, dy) < 4) return;
    wafer.camera.x -= dx / wafer.camera.scale;
    wafer.camera.y -= dy / wafer.camera.scale;
    held = {x: event.offsetX, y: event.offsetY, far: true};
    state.moved = true;
    redraw();
  });
  canvas.addEventListener('pointerup', event => {
    if (held && !held.far) change({pe: wafer.at(event.offsetX, event.offsetY)});
    held = null;
  });
  canvas.addEventListener('pointerleave', () => { $('tip').hidden = true; });
  const fit = () => { wafer.fit(); state.moved = false; redraw(); };
  const near = () => {
    const pe = state.pe ?? model.placement.regions.at(-1) ?? {x: 0, y: 0};
    move('show', pe.x - .4, pe.y - .4, 1.8, 1.8);
    change({pe: {x: pe.x, y: pe.y}});
  };
  $('in').onclick = () => move('zoom', 1.6, ...middle());
  $('out').onclick = () => move('zoom', 1 / 1.6, ...middle());
  $('fit').onclick = fit;
  $('near').onclick = near;
  return {'+': $('in').onclick, '-': $('out').onclick, 0: fit, 1: near};
}

function listen() {
  const keys = listenToMap();
  let playing = null;
  const play = () => {
    $('play').textContent = playing ? '▶ play' : '❚❚ stop';
    if (playing) return playing = clearInterval(playing);
    playing = setInterval(() => stepLaunch(1) ? update() : play(), 400);
  };
  const by = way => () => { stepLaunch(way); update(); };
  $('slider').oninput = event => { setLaunch(event.target.value); update(); };
  $('previous').onclick = by(-1);
  $('next').onclick = by(1);
  $('play').onclick = play;
  $('layer').onchange = event => change({fill: event.target.value});
  $('routes').onchange = event => change({routes: event.target.value, pinned: ''});
  $('theme').onclick = () => change({theme: document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'});
  $('filter').oninput = event => {
    state.filter = event.target.value;
    const first = model.launches.find(lit);
    if (first && !lit(model.launches[state.launch])) setLaunch(first.launch);
    update();
  };
  document.addEventListener('click', event => {
    const {launch, stream, link} = event.target.closest('[data-launch], [data-stream], [data-link]')?.dataset ?? {};
    if (launch !== undefined) { setLaunch(launch); update(); }
    if (link !== undefined) { const [x, y] = link.split(',').map(Number); change({pe: {x, y}}); }
    if (stream !== undefined) change({pinned: state.pinned === stream ? '' : stream});
  });
  document.addEventListener('keydown', event => {
    if (event.target.matches('input, select')) return;
    const act = {ArrowLeft: by(-1), ArrowRight: by(1), ' ': play, ...keys}[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  new ResizeObserver(() => { if (!state.moved) wafer.fit(); redraw(); }).observe($('map'));
  addEventListener('resize', update);
  addEventListener('hashchange', () => { takeAddress(); update(); });
  matchMedia('(prefers-color-scheme: dark)').onchange = update;
}

function start() {
  const {model: name, state: reached, machine} = model.placement;
  document.title = `${name} on ${machine.width}x${machine.height}`;
  $('title').replaceChildren(`${name} `, element('small', {},
      `${reached}, ${machine.width}x${machine.height} PEs of ${machine.name}`));
  $('facts').replaceChildren(...factsOf(model));
  const names = new Set(model.launches.flatMap(kernel => [kernel.name, ...kernel.onnx_nodes]));
  $('nodes').replaceChildren(...[...names].map(value => element('option', {value})));
  $('layer').replaceChildren(...layers.map(layer => element('option', {value: layer.name}, layer.label)));
  $('slider').max = Math.max(0, model.launches.length - 1);
  takeAddress();
  state.moved = location.hash.includes('view=');
  listen();
  update();
}

start();
