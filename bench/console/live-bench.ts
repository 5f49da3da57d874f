import type { CDPSession, Page } from "playwright-core";
import { setTimeout as sleep } from "node:timers/promises";
import { findChromium } from "../../test/console/chromium.ts";
import { startConsole } from "../../test/console/start-console.ts";
import type { Bench } from "../lib/bench.ts";
import type { Report } from "../lib/figure.ts";

const WHOLE_MS = 15 * 60_000;
const QUICK_MS = 60_000;
const RUN_EVERY_MS = 2_000;
const GOAL = { bytes: 1_000_000, heap: 1.25 };

/** Measures what an overview costs that stays open for a quarter of an hour while a run begins every two seconds. */
export async function benchLive({ stage, rounds }: Bench): Promise<Report> {
  const chromium = findChromium();
  if (chromium === null) throw new Error("this benchmark needs Chromium; YARD_CHROMIUM names one");
  const { send, look, stop } = await startConsole(chromium);
  stage.onEnd(stop);
  const { page, context, go } = await look();
  await go("/");
  const browser = await context.newCDPSession(page);
  const lastMs = rounds > 1 ? WHOLE_MS : QUICK_MS;
  let runs = 0;
  const begin = async (): Promise<void> => {
    runs += 1;
    await send("/runs", { agent: "reader", input: "live" });
    await sleep(RUN_EVERY_MS);
  };
  // The first load and the first use of each function are not measured.
  for (const warmUp = Date.now() + lastMs / 10; Date.now() < warmUp;) await begin();
  const received = await receivedBytes(browser);
  const heapBefore = await heapBytes(browser);
  runs = 0;
  const began = Date.now();
  while (Date.now() - began < lastMs) await begin();
  const bytes = (received() / (Date.now() - began)) * WHOLE_MS;
  const heap = await heapBytes(browser);
  await checkIsLive(page);
  return {
    name: "console live",
    figures: [
      {
        name: `an overview is open while ${runs} runs begin: received in 15 minutes`,
        value: bytes / 1_000,
        unit: "kB",
        goal: `< ${GOAL.bytes / 1_000} kB`,
        met: bytes < GOAL.bytes,
      },
      {
        name: "its heap, beside that after a tenth of the time",
        value: heap / 1_000_000,
        unit: "MB",
        baseline: heapBefore / 1_000_000,
        ratio: heap / heapBefore,
        goal: `≤ ${GOAL.heap}×`,
        met: heap <= heapBefore * GOAL.heap,
      },
    ],
  };
}

/** Counts the bytes of headers and bodies, as they are on the wire. */
async function receivedBytes(browser: CDPSession): Promise<() => number> {
  let bytes = 0;
  browser.on("Network.responseReceived", ({ response }) => (bytes += response.encodedDataLength));
  browser.on("Network.dataReceived", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await browser.send("Network.enable");
  return () => bytes;
}

async function heapBytes(browser: CDPSession): Promise<number> {
  await browser.send("HeapProfiler.collectGarbage");
  return (await browser.send("Runtime.getHeapUsage")).usedSize;
}

/** A page that stopped updating would receive little. */
async function checkIsLive(page: Page): Promise<void> {
  const word = await page.getByTestId("live").getAttribute("data-status");
  if (word !== "live") throw new Error(`the page is not live any more, but ${word}`);
}
