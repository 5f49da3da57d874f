import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { animatedWebp, type Frame } from "./animated-webp.ts";

interface Size {
  readonly width: number;
  readonly height: number;
}

interface Shot {
  readonly png: string;
  ms: number;
  /** Taken while something was awaited: the film is understood without it. */
  readonly isBetween: boolean;
}

const EVERY_MS = 400;
const MOST_TURNS = 150;

/** Pictures of a page one after the other, of which each is kept as what has changed since the one before. */
export class Film {
  readonly #page: Page;
  readonly #cutter: Page;
  readonly #size: Size;
  readonly #shots: Shot[] = [];

  static async of(page: Page, size: Size): Promise<Film> {
    // A page of its own, without the console's policy, works on pixels.
    const browser = page.context().browser();
    if (browser === null) throw new Error("the page has no browser");
    return new Film(page, await browser.newPage(), size);
  }

  private constructor(page: Page, cutter: Page, size: Size) {
    this.#page = page;
    this.#cutter = cutter;
    this.#size = size;
  }

  /** Adds a picture of the page as it is now, to be shown for `ms` milliseconds. */
  async take(ms: number, isBetween = false): Promise<void> {
    const png = (await this.#page.screenshot()).toString("base64");
    const last = this.#shots.at(-1);
    if (last?.png === png) last.ms += ms;
    else this.#shots.push({ png, ms, isBetween });
  }

  /** Again and again, until that is so. */
  async takeUntil(isOver: () => Promise<boolean>): Promise<void> {
    for (let turn = 0; turn < MOST_TURNS; turn += 1) {
      if (await isOver()) return;
      await this.take(EVERY_MS, true);
      await sleep(EVERY_MS);
    }
    throw new Error("what the film waits for did not come within a minute");
  }

  /** A loaded machine is slow, so more pictures are taken while something is awaited: every second one of these is left out until the film is small enough. */
  async develop(mostBytes: number): Promise<Buffer> {
    for (let shots: readonly Shot[] = this.#shots; ; shots = thinned(shots)) {
      const film = await this.#developed(shots);
      if (film.length <= mostBytes || !shots.some(({ isBetween }) => isBetween)) return film;
    }
  }

  async #developed(shots: readonly Shot[]): Promise<Buffer> {
    const frames: Frame[] = [];
    let before: string | null = null;
    for (const { png, ms } of shots) {
      const cut = await this.#cutter.evaluate<{ webp: string } & Omit<Frame, "webp" | "ms">>(
        `(${CUT})(${JSON.stringify(png)}, ${JSON.stringify(before)})`,
      );
      frames.push({ ...cut, webp: Buffer.from(cut.webp, "base64"), ms });
      before = png;
    }
    return animatedWebp(this.#size, frames);
  }
}

/** Every second picture between others is left out, and the one before it is shown for its time, too. */
function thinned(shots: readonly Shot[]): Shot[] {
  const kept: Shot[] = [];
  let isLeftOut = false;
  for (const shot of shots) {
    isLeftOut = shot.isBetween && !isLeftOut;
    const last = kept.at(-1);
    if (isLeftOut && last !== undefined) last.ms += shot.ms;
    else kept.push({ ...shot });
  }
  return kept;
}

/** In the browser: what of a picture is other than in the one before, as lossless WebP. */
const CUT = `async (png, before) => {
  const pixels = async (base64) => {
    const image = new Image();
    image.src = "data:image/png;base64," + base64;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    return { canvas, data: new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer) };
  };
  const { canvas, data } = await pixels(png);
  const { width: wide, height: high } = canvas;
  let [left, top, right, bottom] = [wide, high, -1, -1];
  const old = before === null ? null : (await pixels(before)).data;
  for (let y = 0; y < high; y += 1)
    for (let x = 0; x < wide; x += 1) {
      if (old !== null && old[y * wide + x] === data[y * wide + x]) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
  if (right < 0) [left, top, right, bottom] = [0, 0, 1, 1];
  const [x, y] = [left - (left % 2), top - (top % 2)];
  const [width, height] = [right - x + 1, bottom - y + 1];
  const cut = new OffscreenCanvas(width, height);
  cut.getContext("2d").drawImage(canvas, x, y, width, height, 0, 0, width, height);
  const blob = await cut.convertToBlob({ type: "image/webp", quality: 1 });
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return { webp: btoa(text), x, y, width, height };
}`;
