// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mesh on a canvas, from all of it to one PE. Only what is in view is drawn,
// and lines that would lie closer than a few pixels are thinned out, so that a
// wafer of 745,500 PEs costs no more than one of 64.
'use strict';


class Wafer {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.model = model;
    this.context = canvas.getContext('2d');
    this.machine = model.placement.machine;
    this.images = new Map(); // of layers, one pixel a PE
  }

  /** Pixels of the canvas for a PE, and what lies in its upper left corner. */
  get view() { return this.camera; }

  size() { return [this.canvas.clientWidth, this.canvas.clientHeight]; }

  /** Shows columns x to x + columns and the rows beside them. */
  show(x, y, columns, rows) {
    const [width, height] = this.size();
    const scale = Math.min(width / columns, height / rows);
    this.camera = {scale, x: x + columns / 2 - width / scale / 2, y: y + rows / 2 - height / scale / 2};
  }

  /** All of the mesh, below the tools and above the scale. */
  fit() {
    const [width, height] = this.size(), {width: columns, height: rows} = this.machine;
    const side = 60, top = 84, bottom = 62;
    const scale = Math.max(.1, Math.min((width - 2 * side) / columns, (height - top - bottom) / rows));
    this.camera = {scale, x: columns / 2 - width / scale / 2, y: rows / 2 - (height + top - bottom) / scale / 2};
  }

  zoom(factor, px, py) {
    const {scale, x, y} = this.camera;
    const next = Math.min(400, Math.max(0.2, scale * factor));
    this.camera = {scale: next, x: x + px / scale - px / next, y: y + py / scale - py / next};
  }

  /** The PE under a point of the canvas, or null. */
  at(px, py) {
    const x = Math.floor(this.camera.x + px / this.camera.scale);
    const y = Math.floor(this.camera.y + py / this.camera.scale);
    const inside = x >= 0 && y >= 0 && x < this.machine.width && y < this.machine.height;
    return inside ? {x, y} : null;
  }

  px(x) { return (x - this.camera.x) * this.camera.scale; }
  py(y) { return (y - this.camera.y) * this.camera.scale; }

  /** Columns and rows in view. */
  window() {
    const [width, height] = this.size();
    const {scale, x, y} = this.camera;
    const cut = (value, most) => Math.min(most, Math.max(0, value));
    return {x0: cut(Math.floor(x), this.machine.width), x1: cut(Math.ceil(x + width / scale), this.machine.width),
            y0: cut(Math.floor(y), this.machine.height), y1: cut(Math.ceil(y + height / scale), this.machine.height)};
  }

  /** `scene`: region, regions lit, streams, layer, pe, colors of the theme. */
  draw(scene) {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = this.size();
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawMesh(scene);
    this.drawLayer(scene);
    this.drawRegions(scene);
    this.drawKeepOuts(scene);
    for (const stream of scene.streams) this.drawStream(stream, scene);
    this.drawChannels(scene);
    if (this.camera.scale >= 60) this.drawPEs(scene);
    if (scene.pe) this.drawMark(scene);
  }

  drawMesh({theme}) {
    const {context: c, camera} = this;
    const {width, height} = this.machine;
    c.clearRect(0, 0, ...this.size());
    c.fillStyle = theme.mesh;
    c.fillRect(this.px(0), this.py(0), width * camera.scale, height * camera.scale);
  }

  /** PEs that no region has, hatched. */
  drawKeepOuts({theme}) {
    const {context: c, camera: {scale}} = this;
    for (const out of this.machine.keep_outs) {
      const [x, y, w, h] = [this.px(out.x), this.py(out.y), Math.max(2, out.columns * scale), Math.max(2, out.rows * scale)];
      c.save();
      c.beginPath();
      c.rect(x, y, w, h);
      c.fillStyle = theme.panel;
      c.fill();
      c.clip();
      c.strokeStyle = theme.quiet;
      c.lineWidth = 1.5;
      const [from, to] = [Math.max(0, x) - h, Math.min(x + w, this.size()[0])];
      c.beginPath();
      for (let at = from; at < to; at += 6) { c.moveTo(at, y + h); c.lineTo(at + h, y); }
      c.stroke();
      c.restore();
      c.strokeStyle = theme.quiet;
      c.strokeRect(x, y, w, h);
    }
  }

  drawGrid({theme}) {
    const {context: c, camera} = this;
    if (camera.scale < 6) return;
    const v = this.window();
    c.strokeStyle = theme.grid;
    c.lineWidth = 1;
    c.beginPath();
    for (let x = v.x0; x <= v.x1; ++x) { c.moveTo(this.px(x), this.py(v.y0)); c.lineTo(this.px(x), this.py(v.y1)); }
    for (let y = v.y0; y <= v.y1; ++y) { c.moveTo(this.px(v.x0), this.py(y)); c.lineTo(this.px(v.x1), this.py(y)); }
    c.stroke();
  }

  /** Numbers of PEs as colors; of links, once they are wide enough, as bars. */
  drawLayer(scene) {
    const {layer, theme} = scene;
    const bars = layer.links && this.camera.scale >= 34;
    if (layer.values && !bars) {
      const key = layer.name + theme.name;
      if (this.images.get(key)?.values !== layer.values)
        this.images.set(key, {values: layer.values, image: this.paint(layer, theme)});
      this.context.imageSmoothingEnabled = false;
      this.context.drawImage(this.images.get(key).image, this.px(0), this.py(0), this.machine.width * this.camera.scale,
                             this.machine.height * this.camera.scale);
    }
    this.drawGrid(scene);
    if (bars) this.drawLinks(scene);
  }

  paint(layer, theme) {
    const {width, height} = this.machine;
    const canvas = new OffscreenCanvas(width, height);
    const c = canvas.getContext('2d');
    const image = c.createImageData(width, height);
    const table = Array.from({length: 256}, (_, i) => heat(i / 255, theme));
    layer.values.forEach((value, i) => {
      const [r, g, b] = table[Math.round(255 * (layer.most ? value / layer.most : 0))];
      image.data.set([r, g, b, 255], i * 4);
    });
    c.putImageData(image, 0, 0);
    return canvas;
  }

  drawLinks({layer, theme}) {
    const {context: c, camera: {scale}} = this;
    const v = this.window();
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    c.font = '10px sans-serif';
    for (let y = v.y0; y < v.y1; ++y)
      for (let x = v.x0; x < v.x1; ++x)
        for (const port of ports) {
          const value = layer.links[port][y * this.machine.width + x];
          if (!value) continue;
          const [dx, dy] = step[port];
          // Side by side with the link of the other direction.
          const cx = this.px(x + .5 + dx * .5 + dy * .16), cy = this.py(y + .5 + dy * .5 + dx * .16);
          const w = dx ? scale * .5 : scale * .12, h = dx ? scale * .12 : scale * .5;
          const share = value / layer.most;
          c.fillStyle = `rgb(${heat(share, theme)})`;
          c.strokeStyle = theme.quiet;
          c.lineWidth = .5;
          c.fillRect(cx - w / 2, cy - h / 2, w, h);
          c.strokeRect(cx - w / 2, cy - h / 2, w, h);
          if (scale >= 110) {
            c.fillStyle = share < .5 ? theme.ink : theme.panel;
            c.fillText(short(value), cx, cy);
          }
        }
  }

  drawRegions({regions, lit, active, layer, theme}) {
    const {context: c, camera: {scale}} = this;
    regions.forEach((region, i) => {
      const [x, y] = [this.px(region.x), this.py(region.y)];
      const [w, h] = [region.columns * scale, region.rows * scale];
      c.globalAlpha = layer.values ? 0 : i === active ? .34 : lit.has(i) ? .16 : .05;
      c.fillStyle = regionColor(i, theme);
      c.fillRect(x, y, w, h);
      c.globalAlpha = lit.has(i) ? 1 : .4;
      c.strokeStyle = regionColor(i, theme);
      c.lineWidth = i === active ? 3 : 1.5;
      c.strokeRect(x, y, w, h);
      const label = `@${region.name}  ${region.columns}x${region.rows}`;
      c.font = '600 12px sans-serif';
      c.textAlign = 'left';
      c.textBaseline = 'top';
      const [vx, vy] = [Math.max(x, 0), Math.max(y - 18, 46)]; // below the form
      const room = c.measureText(label).width + 10;
      c.globalAlpha = 1;
      if (w >= room && vx < x + w && vy < y + h) {
        c.fillStyle = theme.panel;
        c.fillRect(vx, vy, room, 18);
        c.fillStyle = regionColor(i, theme);
        c.fillText(label, vx + 5, vy + 3);
      } else if (w >= 14 && h >= room) { // upwards, where it is narrow
        c.save();
        c.translate(x + w / 2, Math.min(y + h, this.size()[1]) - 6);
        c.rotate(-Math.PI / 2);
        c.textBaseline = 'middle';
        c.fillStyle = theme.ink;
        c.fillText(label, 0, 0);
        c.restore();
      }
    });
    c.globalAlpha = 1;
  }

  /** The first of rows (columns) begin, begin + by, ... in view, and how far on
   *  the next is that is drawn. */
  thinned([begin, end, by], from, to) {
    const skip = by * Math.max(1, Math.ceil(7 / (by * this.camera.scale)));
    const first = begin + Math.max(0, Math.ceil((from - begin) / skip)) * skip;
    return [first, Math.min(end, to), skip];
  }

  drawStream(stream, {theme, faint}) {
    const {context: c, camera: {scale}} = this;
    const v = this.window();
    c.globalAlpha = faint ? .25 : .85;
    for (const route of stream.routes) {
      const shift = scale < 14 ? 0 : ((route.color * 7) % 11 - 5) / 11 * .5;
      c.strokeStyle = c.fillStyle = wireColor(route.color, theme);
      c.lineWidth = Math.max(1, Math.min(5, scale * .05));
      c.beginPath();
      const [dx, dy] = step[route.receive];
      const straight = route.transmit.some(port => step[port][0] === -dx && step[port][1] === -dy && port !== 'ramp');
      const xs = straight && dx && route.x[2] === 1 ? null : this.thinned(route.x, v.x0 - 1, v.x1 + 1);
      const ys = straight && dy && route.y[2] === 1 ? null : this.thinned(route.y, v.y0 - 1, v.y1 + 1);
      // A run of routers that pass words straight on is one line.
      if (!xs) {
        const [x0, x1] = [this.px(Math.max(route.x[0], v.x0 - 1)), this.px(Math.min(route.x[1], v.x1 + 1))];
        for (let [y, end, by] = ys; y < end && x0 < x1; y += by) {
          c.moveTo(x0, this.py(y + .5 + shift));
          c.lineTo(x1, this.py(y + .5 + shift));
        }
      }
      if (!ys) {
        const [y0, y1] = [this.py(Math.max(route.y[0], v.y0 - 1)), this.py(Math.min(route.y[1], v.y1 + 1))];
        for (let [x, end, by] = xs; x < end && y0 < y1; x += by) {
          c.moveTo(this.px(x + .5 + shift), y0);
          c.lineTo(this.px(x + .5 + shift), y1);
        }
      }
      c.stroke();
      const turns = xs && ys;
      const [tx, ty] = turns ? [xs, ys] : [this.thinned(route.x, v.x0, v.x1), this.thinned(route.y, v.y0, v.y1)];
      if (turns || scale >= 14)
        for (let [y, ye, yb] = ty; y < ye; y += yb)
          for (let [x, xe, xb] = tx; x < xe; x += xb) this.drawRouter(route, x, y, shift);
    }
    c.globalAlpha = 1;
  }

  /** From the port that words come in by to those they leave by. */
  drawRouter(route, x, y, shift) {
    const {context: c, camera: {scale}} = this;
    const [cx, cy] = [this.px(x + .5 + shift), this.py(y + .5 + shift)];
    const end = port => {
      const [dx, dy] = step[port];
      return [dx ? this.px(x + .5 + dx * .5) : cx, dy ? this.py(y + .5 + dy * .5) : cy];
    };
    c.beginPath();
    for (const port of [route.receive, ...route.transmit]) {
      if (port === 'ramp') continue;
      c.moveTo(cx, cy);
      c.lineTo(...end(port));
    }
    c.stroke();
    if (scale < 14) return;
    const size = Math.min(9, scale * .12);
    for (const port of route.transmit) {
      if (port === 'ramp') { // into the PE
        c.beginPath();
        c.arc(cx, cy, size * .55, 0, 7);
        c.fill();
        continue;
      }
      const [dx, dy] = step[port], [ex, ey] = end(port);
      c.beginPath();
      c.moveTo(ex, ey);
      c.lineTo(ex - dx * size + dy * size / 2, ey - dy * size + dx * size / 2);
      c.lineTo(ex - dx * size - dy * size / 2, ey - dy * size - dx * size / 2);
      c.fill();
    }
    if (route.receive === 'ramp') // out of the PE
      c.fillRect(cx - size * .6, cy - size * .6, size * 1.2, size * 1.2);
    if (scale >= 150) {
      c.font = '10px sans-serif';
      c.textAlign = 'left';
      c.textBaseline = 'bottom';
      c.fillText(route.color, cx + size * .8, cy - 3);
    }
  }

  drawChannels({theme, channelsIn, channelsOut}) {
    const {context: c, camera: {scale}} = this;
    const {placement} = this.model;
    const size = Math.max(5, Math.min(16, scale * .6));
    const arrow = (x, y, on) => {
      c.globalAlpha = on ? 1 : .45;
      c.fillStyle = on ? theme.mark : theme.quiet;
      c.beginPath();
      c.moveTo(x, y - size / 2);
      c.lineTo(x + size, y);
      c.lineTo(x, y + size / 2);
      c.fill();
    };
    const end = this.px(this.machine.width);
    const rows = (channels, draw) => new Set(channels.map(channel => channel.row)).forEach(draw);
    rows(placement.channels.west, row => arrow(this.px(0) - size - 4, this.py(row + .5), channelsIn));
    rows(placement.channels.east, row => arrow(end + 4, this.py(row + .5), channelsOut));
    c.globalAlpha = 1;
    c.fillStyle = theme.quiet;
    c.font = '11px sans-serif';
    c.textBaseline = 'bottom';
    c.textAlign = 'right';
    c.fillText('in', this.px(0) - 4, this.py(0) - 4);
    c.textAlign = 'left';
    c.fillText('out', end + 4, this.py(0) - 4);
    c.textAlign = 'center';
    c.textBaseline = 'top';
    c.fillText(`${this.machine.width} columns, ${this.machine.height} rows`, (this.px(0) + end) / 2,
               this.py(this.machine.height) + 6);
  }

  /** PEs large enough to read: where they are, and how full. */
  drawPEs({theme, regions, held}) {
    const {context: c, camera: {scale}} = this;
    const v = this.window();
    const {sram_bytes: limit} = this.machine;
    c.font = `${Math.min(13, scale * .12)}px sans-serif`;
    c.textAlign = 'left';
    c.textBaseline = 'top';
    for (let y = v.y0; y < v.y1; ++y)
      for (let x = v.x0; x < v.x1; ++x) {
        c.fillStyle = theme.quiet;
        c.fillText(`${x}, ${y}`, this.px(x + .05), this.py(y + .05));
        const region = regions.findIndex(r => contains(r, x, y));
        if (region < 0 || scale < 120) continue;
        const [bx, by, bw, bh] = [this.px(x + .05), this.py(y + .2), scale * .07, scale * .74];
        c.fillStyle = theme.panel;
        c.fillRect(bx, by, bw, bh);
        for (const part of held(region)) {
          c.fillStyle = part.color;
          c.fillRect(bx, by + bh * part.address / limit, bw, Math.max(1, bh * part.bytes / limit));
        }
        c.strokeStyle = theme.quiet;
        c.lineWidth = 1;
        c.strokeRect(bx, by, bw, bh);
      }
  }

  drawMark({pe, theme}) {
    const {context: c, camera: {scale}} = this;
    const side = Math.max(scale, 7), inset = (side - scale) / 2;
    c.strokeStyle = theme.mark;
    c.lineWidth = 2.5;
    c.strokeRect(this.px(pe.x) - inset, this.py(pe.y) - inset, side, side);
  }
}
