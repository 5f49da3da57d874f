import { readFile } from "node:fs/promises";
import type { Bench } from "../lib/bench.ts";
import type { Report } from "../lib/figure.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { callFigures } from "./call-figures.ts";
import { startBareServer } from "./our-gateway.ts";
import { readerFigures } from "./reader-figures.ts";
import { startFigures } from "./start-figure.ts";
import { testConstants } from "@switchyard/testing/test-constants";

/** Measures the cost of HTTP: tool calls, starts of runs, readers of events. Everything is on loopback, with everything on. */
export async function benchGateway(bench: Bench): Promise<Report> {
  const { bus, instance } = await startSwitchyard(bench.stage, {
    runners: 1,
    env: {
      YARD_HTTP_REQUESTS_PER_MINUTE: "1000000",
      // Readers subscribe before their runs start.
      ...testConstants({ unknownRunMs: 3_600_000, httpStreamsPerCaller: 100_000 }),
    },
  });
  const token = (await readFile(instance.httpTokenFile, "utf8")).trim();
  const bare = { url: await startBareServer(bench.stage, instance), token };
  const ours = { bus, instance, url: instance.httpUrl, token, bare };
  return {
    name: "gateway",
    figures: [
      ...(await readerFigures(bench, ours)),
      ...(await callFigures(bench, ours)),
      // Last, since it leaves a queue of runs behind.
      ...(await startFigures(bench, ours)),
    ],
  };
}
